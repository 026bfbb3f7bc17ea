// SPDX-License-Identifier: Apache-2.0
#include "report/html/row_detail.h"

#include <fmt/format.h>

#include "base/text.h"

namespace hone::report {
namespace {

constexpr std::uint32_t kUnseen = UINT32_MAX;

// "128", "128 x 4": trailing ones say nothing.
std::string Extent(const std::uint32_t (&size)[3]) {
  if (size[2] > 1) return fmt::format("{} x {} x {}", size[0], size[1], size[2]);
  return size[1] > 1 ? fmt::format("{} x {}", size[0], size[1]) : fmt::format("{}", size[0]);
}

const char* DirectionText(trace::CopyDirection direction) {
  switch (direction) {
    case trace::CopyDirection::kHostToDevice: return "host to device";
    case trace::CopyDirection::kDeviceToHost: return "device to host";
    case trace::CopyDirection::kDeviceToDevice: return "device to device";
    case trace::CopyDirection::kPeerToPeer: return "device to another device";
    case trace::CopyDirection::kHostToHost: return "host to host";
    case trace::CopyDirection::kUnknown: break;
  }
  return "";
}

bool IsPageable(trace::MemoryKind kind) { return kind == trace::MemoryKind::kPageable; }
bool IsPinned(trace::MemoryKind kind) { return kind == trace::MemoryKind::kPinned; }

void AddPart(std::string& text, const std::string& part) {
  if (part.empty()) return;
  if (!text.empty()) text += " · ";
  text += part;
}

}  // namespace

RowDetails::RowDetails(const trace::Trace& trace, PageStrings& strings)
    : trace_(trace),
      strings_(strings),
      launch_(trace.launches.size(), kUnseen),
      collective_(trace.collectives.size(), kUnseen) {
  launch_[0] = collective_[0] = 0;
}

std::uint32_t RowDetails::OfHost(trace::RowId row) {
  if (trace_.host.detail[row] == 0) return 0;
  const trace::OpDetail& detail = trace_.op_details[trace_.host.detail[row]];
  std::uint32_t& known = collective_[detail.collective];
  if (known == kUnseen) known = strings_.Of(CollectiveText(trace_.collectives[detail.collective]));
  return detail.dims == StringId::kEmpty ? known : strings_.Of(detail.dims);
}

std::uint32_t RowDetails::OfDevice(trace::RowId row) {
  const trace::DeviceWork& work = trace_.device;
  if (work.kind[row] == trace::WorkKind::kCopy || work.kind[row] == trace::WorkKind::kSet) {
    return strings_.Of(CopyText(row));
  }
  if (work.collective[row] != 0) {
    std::uint32_t& known = collective_[work.collective[row]];
    if (known == kUnseen)
      known = strings_.Of(CollectiveText(trace_.collectives[work.collective[row]]));
    return known;
  }
  std::uint32_t& known = launch_[work.launch[row]];
  if (known == kUnseen) known = strings_.Of(LaunchText(trace_.launches[work.launch[row]]));
  return known;
}

std::string RowDetails::LaunchText(const trace::LaunchConfig& launch) const {
  std::string text;
  if (launch.grid[0] > 0) {
    text = fmt::format("grid {}, block {}", Extent(launch.grid), Extent(launch.block));
  }
  if (launch.registers_per_thread >= 0) {
    AddPart(text, fmt::format("{} registers a thread", launch.registers_per_thread));
  }
  if (launch.shared_memory_bytes > 0) {
    AddPart(text, HumanBytes(static_cast<double>(launch.shared_memory_bytes)) + " shared");
  }
  if (launch.occupancy_pct >= 0) {
    AddPart(text, fmt::format("occupancy {} %", Fixed(launch.occupancy_pct, 0)));
  }
  return text;
}

std::string RowDetails::CollectiveText(const trace::Collective& collective) const {
  std::string text(trace_.Name(collective.name));
  if (collective.in_elements >= 0) {
    AddPart(text, fmt::format("{} of {}",
                              Count(static_cast<std::uint64_t>(collective.in_elements), "element"),
                              trace_.Name(collective.dtype)));
  }
  if (collective.group_size >= 0) {
    AddPart(text, Count(static_cast<std::uint64_t>(collective.group_size), "rank"));
  }
  return text;
}

std::string RowDetails::CopyText(trace::RowId row) const {
  const trace::DeviceWork& work = trace_.device;
  std::string text;
  if (work.bytes[row] >= 0) text = HumanBytes(static_cast<double>(work.bytes[row]));
  if (work.kind[row] != trace::WorkKind::kCopy) return text;
  AddPart(text, DirectionText(work.direction[row]));
  if (IsPageable(work.source[row]) || IsPageable(work.target[row])) {
    AddPart(text, "pageable");
  } else if (IsPinned(work.source[row]) || IsPinned(work.target[row])) {
    AddPart(text, "pinned");
  }
  return text;
}

}  // namespace hone::report
