// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <unordered_map>

#include "import/hone/session.h"

namespace hone::importer::hone_file {
namespace {

using trace::SliceKind;
using wire::HostKind;

SliceKind KindOf(std::int64_t kind) {
  switch (static_cast<HostKind>(kind)) {
    case HostKind::kOp:
    case HostKind::kBackward: return SliceKind::kOp;
    case HostKind::kUser:
    case HostKind::kRange:
    case HostKind::kLoader: return SliceKind::kAnnotation;
    case HostKind::kOther: break;
  }
  return SliceKind::kOther;
}

// CUpti_ActivityOverheadKind, as the PyTorch profiler names them.
const char* OverheadName(std::int64_t kind) {
  constexpr const char* kNames[] = {"",
                                    "Buffer Flush",
                                    "Instrumentation",
                                    "Resource",
                                    "Runtime Triggered Module Loading",
                                    "Lazy Function Loading",
                                    "Command Buffer Full",
                                    "Activity Buffer Request",
                                    "UVM Activity Init"};
  constexpr std::int64_t kShift = 16;
  if (kind == 1) return "Driver Compiler";
  const std::int64_t index = kind >> kShift;
  return index > 0 && index < static_cast<std::int64_t>(std::size(kNames)) ? kNames[index]
                                                                           : "Overhead";
}

}  // namespace

bool HostReader::Take(const wire::Chunk& chunk) {
  if (chunk.table() == "host") {
    TakeHost(chunk);
  } else if (chunk.table() == "api") {
    TakeApi(chunk);
  } else if (chunk.table() == "overhead") {
    TakeOverhead(chunk);
  } else if (chunk.table() == "collectives") {
    TakeCollectives(chunk);
  } else {
    return false;
  }
  return true;
}

bool HostReader::ReadSlice(std::int64_t start, std::int64_t duration, std::int64_t name,
                           std::int64_t tid, trace::SliceInput& slice) {
  Session::Time time;
  if (!session_.ReadSpan(start, duration, time)) return false;
  slice.start_ns = time.start_ns;
  slice.duration_ns = time.duration_ns;
  slice.name = session_.dictionary.Name(name);
  slice.thread = session_.Thread(tid);
  return true;
}

trace::OpDetail HostReader::DetailAt(std::int64_t frame) {
  const std::uint32_t row = session_.dictionary.Frame(frame);
  trace::OpDetail detail;
  detail.stack = session_.dictionary.StackText(row, session_.builder);
  detail.module = session_.dictionary.ModuleText(row, session_.builder);
  return detail;
}

void HostReader::TakeHost(const wire::Chunk& chunk) {
  if (!session_.Has(chunk, {"tid", "start", "duration", "name"})) return;
  const Numbers tid{chunk.Integers("tid")}, start{chunk.Integers("start")};
  const Numbers duration{chunk.Integers("duration")}, name{chunk.Integers("name")};
  const Numbers kind{chunk.Integers("kind")}, frame{chunk.Integers("frame")};
  const Numbers sequence{chunk.Integers("sequence"), -1};
  const Numbers forward{chunk.Integers("forward_tid")}, arguments{chunk.Integers("arguments")};
  for (std::size_t i = 0; i < chunk.rows(); ++i) {
    trace::SliceInput slice;
    if (!ReadSlice(start[i], duration[i], name[i], tid[i], slice)) continue;
    slice.kind = KindOf(kind[i]);
    trace::OpDetail detail = DetailAt(frame[i]);
    if (slice.kind == SliceKind::kOp) {
      slice.link = std::max<std::int64_t>(sequence[i], -1);
      const Arguments values = session_.dictionary.ArgumentsOf(arguments[i], session_.builder);
      detail.dims = values.dims;
      detail.types = values.types;
      detail.concrete = values.concrete;
      const bool backward = kind[i] == static_cast<std::int64_t>(HostKind::kBackward);
      if (backward || forward[i] > 0) {
        detail.fwd_thread =
            static_cast<std::int32_t>(std::clamp<std::int64_t>(forward[i], 1, INT32_MAX));
      }
      if (slice.link >= 0 && forward[i] > 0) {
        backward_.push_back({forward[i], slice.link, slice.start_ns, slice.thread});
      } else if (slice.link >= 0 && !backward) {
        forward_.push_back({tid[i], slice.link, slice.start_ns, slice.thread});
      }
    }
    slice.detail = session_.builder.Detail(detail);
    session_.builder.Add(slice);
  }
}

void HostReader::TakeApi(const wire::Chunk& chunk) {
  if (!session_.Has(chunk, {"tid", "start", "duration", "name"})) return;
  const Numbers tid{chunk.Integers("tid")}, start{chunk.Integers("start")};
  const Numbers duration{chunk.Integers("duration")}, name{chunk.Integers("name")};
  const Numbers correlation{chunk.Integers("correlation")}, frame{chunk.Integers("frame")};
  for (std::size_t i = 0; i < chunk.rows(); ++i) {
    trace::SliceInput slice;
    if (!ReadSlice(start[i], duration[i], name[i], tid[i], slice)) continue;
    slice.kind = SliceKind::kApi;
    slice.id = correlation[i];
    slice.detail = session_.builder.Detail(DetailAt(frame[i]));
    session_.builder.Add(slice);
  }
}

void HostReader::TakeOverhead(const wire::Chunk& chunk) {
  if (!session_.Has(chunk, {"start", "duration"})) return;
  const Numbers start{chunk.Integers("start")}, duration{chunk.Integers("duration")};
  const Numbers kind{chunk.Integers("kind")}, tid{chunk.Integers("tid")};
  for (std::size_t i = 0; i < chunk.rows(); ++i) {
    Session::Time time;
    if (!session_.ReadSpan(start[i], duration[i], time)) continue;
    trace::SliceInput slice;
    slice.start_ns = time.start_ns;
    slice.duration_ns = time.duration_ns;
    slice.name = session_.builder.Intern(OverheadName(kind[i]));
    slice.kind = SliceKind::kOverhead;
    slice.thread = session_.Thread(tid[i]);
    session_.builder.Add(slice);
  }
}

// NCCL's own view: the call that starts a collective, told as torch.distributed's annotations are.
void HostReader::TakeCollectives(const wire::Chunk& chunk) {
  if (!session_.Has(chunk, {"start", "duration", "name"})) return;
  const Numbers start{chunk.Integers("start")}, duration{chunk.Integers("duration")};
  const Numbers tid{chunk.Integers("tid")}, name{chunk.Integers("name")};
  const Numbers dtype{chunk.Integers("dtype")}, count{chunk.Integers("count"), -1};
  const Numbers group{chunk.Integers("communicator")}, ranks{chunk.Integers("ranks"), -1};
  const Numbers sequence{chunk.Integers("sequence"), -1};
  trace::Builder& builder = session_.builder;
  for (std::size_t i = 0; i < chunk.rows(); ++i) {
    Session::Time time;
    if (!session_.ReadSpan(start[i], duration[i], time)) continue;
    trace::Collective collective;
    collective.name = session_.dictionary.Name(name[i]);
    collective.dtype = session_.dictionary.Name(dtype[i]);
    collective.in_elements = count[i];
    collective.group_size = ranks[i];
    collective.group_name = builder.Intern(std::to_string(group[i]));
    collective.sequence = sequence[i];
    trace::OpDetail detail;
    detail.collective = builder.CollectiveRow(collective);
    trace::SliceInput slice;
    slice.start_ns = time.start_ns;
    slice.duration_ns = time.duration_ns;
    slice.name = builder.Intern("nccl:" + std::string(builder.trace().Name(collective.name)));
    slice.kind = SliceKind::kAnnotation;
    slice.thread = session_.Thread(tid[i]);
    slice.detail = builder.Detail(detail);
    builder.Add(slice);
  }
}

// An autograd node names the thread and the number of the operator that it is the backward of.
// Operators inside one share its number: the innermost, which begins last, is meant.
void HostReader::LinkBackward() {
  struct Key {
    std::int64_t tid, sequence;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const {
      return static_cast<std::size_t>(key.tid) * 0x9E3779B97F4A7C15ULL ^
             static_cast<std::size_t>(key.sequence) * 0xC2B2AE3D27D4EB4FULL;
    }
  };
  std::unordered_map<Key, const Autograd*, Hash> operators;
  for (const Autograd& forward : forward_) {
    const Autograd*& kept = operators[{forward.forward_tid, forward.sequence}];
    if (kept == nullptr || kept->time_ns < forward.time_ns) kept = &forward;
  }
  std::int64_t id = static_cast<std::int64_t>(session_.builder.trace().flows.size());
  for (const Autograd& backward : backward_) {
    const auto found = operators.find({backward.forward_tid, backward.sequence});
    if (found == operators.end() || found->second->time_ns > backward.time_ns) continue;
    ++id;
    session_.builder.AddFlow(id, found->second->time_ns, found->second->thread, false);
    session_.builder.AddFlow(id, backward.time_ns, backward.thread, true);
  }
}

void HostReader::Finish() { LinkBackward(); }

}  // namespace hone::importer::hone_file
