// SPDX-License-Identifier: Apache-2.0
#include "import/kineto/event_fields.h"

#include <array>
#include <cstddef>

#include "import/kineto/scalar.h"

namespace hone::importer::kineto {
namespace {

template <auto Member>
void SetInteger(RawEvent& event, std::string_view json) {
  if (const auto value = ParseInteger(Unquote(json))) event.*Member = *value;
}
template <auto Member>
void SetDouble(RawEvent& event, std::string_view json) {
  if (const auto value = ParseDouble(json)) event.*Member = *value;
}
template <auto Member>
void SetText(RawEvent& event, std::string_view json) {
  event.*Member = Unquote(json);
}
// Arrays and objects keep their brackets; strings lose their quotes.
template <auto Member>
void SetCollectiveText(RawEvent& event, std::string_view json) {
  event.*Member = Unquote(json);
  event.has_collective = true;
}
template <auto Member>
void SetCollectiveInteger(RawEvent& event, std::string_view json) {
  SetInteger<Member>(event, json);
  event.has_collective = true;
}
void SetAddress(RawEvent& event, std::string_view json) {
  if (const auto value = ParseAddress(Unquote(json))) event.address = *value;
}
// "device" and "Device Id" name the same thing in GPU records and allocator records.
void SetDevice(RawEvent& event, std::string_view json) {
  SetInteger<&RawEvent::device>(event, json);
}

// Names as PyTorch wrote them between 2021 and 2026.
constexpr ArgKey kArgs[] = {
    {"External id", SetInteger<&RawEvent::external_id>, true},
    {"external id", SetInteger<&RawEvent::external_id>, true},
    {"correlation", SetInteger<&RawEvent::correlation>, true},
    {"Sequence number", SetInteger<&RawEvent::sequence>, true},
    {"Fwd thread id", SetInteger<&RawEvent::fwd_thread>, true},
    {"device", SetDevice},
    {"stream", SetInteger<&RawEvent::stream>},
    {"bytes", SetInteger<&RawEvent::bytes>},
    {"Bytes", SetInteger<&RawEvent::bytes>},
    {"size", SetInteger<&RawEvent::bytes>},
    {"Input Dims", SetText<&RawEvent::dims>},
    {"Input dims", SetText<&RawEvent::dims>},
    {"Input type", SetText<&RawEvent::types>},
    {"Input types", SetText<&RawEvent::types>},
    {"Input Strides", SetText<&RawEvent::strides>},
    {"Concrete Inputs", SetText<&RawEvent::concrete>},
    {"Call stack", SetText<&RawEvent::stack>},
    {"Module Hierarchy", SetText<&RawEvent::module>},
    {"Python id", SetInteger<&RawEvent::python_id>, true},
    {"Python parent id", SetInteger<&RawEvent::python_parent>, true},
    {"grid", SetText<&RawEvent::grid>},
    {"block", SetText<&RawEvent::block>},
    {"registers per thread", SetInteger<&RawEvent::registers>},
    {"shared memory", SetInteger<&RawEvent::shared_memory>},
    {"blocks per SM", SetDouble<&RawEvent::blocks_per_sm>},
    {"warps per SM", SetDouble<&RawEvent::warps_per_sm>},
    {"est. achieved occupancy %", SetDouble<&RawEvent::occupancy>},
    {"graph id", SetInteger<&RawEvent::graph_id>},
    {"graph node id", SetInteger<&RawEvent::graph_node_id>},
    {"original graph node id", SetInteger<&RawEvent::original_node_id>},
    {"Total Allocated", SetInteger<&RawEvent::total_allocated>},
    {"Total Reserved", SetInteger<&RawEvent::total_reserved>},
    {"Device Type", SetInteger<&RawEvent::device_type>},
    {"Device Id", SetInteger<&RawEvent::device_id>},
    {"Addr", SetAddress},
    {"wait_on_stream", SetInteger<&RawEvent::wait_on_stream>},
    {"wait_on_cuda_event_id", SetInteger<&RawEvent::event_id>},
    {"event_id", SetInteger<&RawEvent::event_id>},
    {"wait_on_cuda_event_record_corr_id", SetInteger<&RawEvent::event_record_correlation>},
    {"Collective name", SetCollectiveText<&RawEvent::collective_name>},
    {"dtype", SetText<&RawEvent::dtype>},
    {"In msg nelems", SetCollectiveInteger<&RawEvent::in_elements>},
    {"Out msg nelems", SetCollectiveInteger<&RawEvent::out_elements>},
    {"Group size", SetCollectiveInteger<&RawEvent::group_size>},
    {"In split size", SetText<&RawEvent::in_split>},
    {"Out split size", SetText<&RawEvent::out_split>},
    {"Process Group Name", SetCollectiveText<&RawEvent::group_name>},
    {"Process Group Description", SetText<&RawEvent::group_description>},
    {"Process Group Ranks", SetText<&RawEvent::group_ranks>},
    {"Seq", SetInteger<&RawEvent::collective_sequence>},
    {"Src Rank", SetInteger<&RawEvent::source_rank>},
    {"Dst Rank", SetInteger<&RawEvent::target_rank>},
};

constexpr std::size_t kSlots = 256;

// Length, first and last letter tell nearly all keys apart; collisions probe onward.
constexpr std::size_t SlotOf(std::string_view key) {
  if (key.empty()) return 0;
  const auto first = static_cast<unsigned char>(key.front());
  const auto last = static_cast<unsigned char>(key.back());
  return (key.size() * 37 + first * std::size_t{11} + last * std::size_t{5}) % kSlots;
}

constexpr std::array<unsigned char, kSlots> BuildSlots() {
  std::array<unsigned char, kSlots> slots{};  // index + 1; 0: free
  for (std::size_t i = 0; i < std::size(kArgs); ++i) {
    std::size_t slot = SlotOf(kArgs[i].key);
    while (slots[slot] != 0) slot = (slot + 1) % kSlots;
    slots[slot] = static_cast<unsigned char>(i + 1);
  }
  return slots;
}
constexpr std::array<unsigned char, kSlots> kSlotTable = BuildSlots();

void SetTime(RawEvent& event, std::string_view token) {
  if (const auto time = ParseMicros(Unquote(token))) {
    event.time_ns = *time;
    event.has_time = true;
  }
}
void SetDuration(RawEvent& event, std::string_view token) {
  if (const auto duration = ParseMicros(Unquote(token))) {
    event.duration_ns = *duration;
    event.has_duration = true;
  }
}

}  // namespace

const ArgKey* FindArg(std::string_view key) {
  for (std::size_t slot = SlotOf(key); kSlotTable[slot] != 0; slot = (slot + 1) % kSlots) {
    const ArgKey& arg = kArgs[kSlotTable[slot] - 1];
    if (arg.key == key) return &arg;
  }
  return nullptr;
}

void SetEventField(RawEvent& event, std::string_view key, std::string_view token) {
  switch (key.size()) {
    case 2:
      if (key == "ph") {
        const std::string_view phase = Unquote(token);
        event.phase = phase.size() == 1 ? phase[0] : '\0';
      } else if (key == "ts") {
        SetTime(event, token);
      } else if (key == "id") {
        event.id = ParseId(token);
      }
      break;
    case 3:
      if (key == "cat") {
        event.category = Unquote(token);
      } else if (key == "pid") {
        event.pid = ParseId(token);
      } else if (key == "tid") {
        event.tid = ParseId(token);
      } else if (key == "dur") {
        SetDuration(event, token);
      }
      break;
    case 4:
      if (key == "name") event.name = Unquote(token);
      break;
    default: break;
  }
}

}  // namespace hone::importer::kineto
