// SPDX-License-Identifier: Apache-2.0
#include "diff/place.h"

#include <algorithm>

#include "analyze/grouping.h"
#include "base/torch_scope.h"
#include "diff/place_index.h"

namespace hone::diff {
namespace {

using analyze::WorkClass;
using trace::Interval;
using trace::IntervalSet;
using trace::kNoRow;
using trace::RowId;
using trace::SliceKind;

// What an annotation or operator says about itself and all inside it.
Phase PhaseOf(SliceKind kind, std::string_view name, bool backward_mark) {
  if (name.starts_with("Optimizer.")) return Phase::kOptimizer;
  if (kind == SliceKind::kOp && (backward_mark || name.starts_with("autograd::engine::"))) {
    return Phase::kBackward;
  }
  return Phase::kUnknown;
}

// Time of each row that no row before it covers: of its own class where that began earlier, and of
// the classes that come first.
class Exposure {
 public:
  Exposure(const analyze::DeviceTimeline& device, const IntervalSet& window)
      : window_(window),
        compute_(trace::Intersect(device.compute, window)),
        work_(trace::Unite(compute_, trace::Intersect(device.comm, window))) {
    reached_.fill(window.hull().begin_ns);
  }

  Nanos Take(WorkClass work_class, Interval span) {
    Nanos& reached = reached_[static_cast<std::size_t>(work_class)];
    const Nanos begin = std::max(span.begin_ns, reached);
    const Nanos end = span.end_ns;
    if (end <= begin) return 0;
    reached = end;
    const Nanos all = window_.LengthWithin({begin, end});
    switch (work_class) {
      case WorkClass::kCompute: return all;
      case WorkClass::kCommunication: return all - compute_.LengthWithin({begin, end});
      case WorkClass::kCopy: return all - work_.LengthWithin({begin, end});
    }
    return all;
  }

 private:
  const IntervalSet& window_;
  const IntervalSet compute_, work_;
  std::array<Nanos, 3> reached_;  // by class
};

}  // namespace

const char* PhaseName(Phase phase) {
  switch (phase) {
    case Phase::kForward: return "forward";
    case Phase::kBackward: return "backward";
    case Phase::kOptimizer: return "optimizer";
    case Phase::kUnknown: return "unknown";
  }
  return "unknown";
}

HostPlaces::HostPlaces(const trace::Trace& trace, Names& pool)
    : trace_(trace),
      pool_(pool),
      path_(trace.host.size(), kNoPath),
      phase_(trace.host.size(), Phase::kForward),
      shared_(trace.strings.size(), StringId::kEmpty) {
  const trace::HostSlices& host = trace.host;
  std::vector<StringId> labels(trace.strings.size(), StringId::kEmpty);
  for (RowId i = 0; i < host.size(); ++i) {
    const RowId parent = host.parent[i];
    const SliceKind kind = host.kind[i];
    if (parent != kNoRow) {
      path_[i] = path_[parent];
      phase_[i] = phase_[parent];
    }
    if (kind != SliceKind::kOp && kind != SliceKind::kAnnotation) continue;
    const std::string_view text = trace.HostName(i);
    const bool backward_mark = trace.op_details[host.detail[i]].fwd_thread > 0;
    const Phase own = PhaseOf(kind, text, backward_mark);
    if (own != Phase::kUnknown) phase_[i] = own;
    if (kind == SliceKind::kOp) {
      path_[i] = pool.Inside(path_[i], Shared(host.name[i]));
    } else if (!text.starts_with(kProfilerStep)) {
      // Marks of steps stand around everything, and not every recorder writes them.
      StringId& label = labels[static_cast<std::uint32_t>(host.name[i])];
      if (label == StringId::kEmpty) label = pool.Intern(WithoutNumber(text));
      path_[i] = pool.Inside(path_[i], label);
    }
  }
}

StringId HostPlaces::Shared(StringId own) {
  StringId& shared = shared_[static_cast<std::uint32_t>(own)];
  if (shared == StringId::kEmpty) shared = pool_.Intern(trace_.Name(own));
  return shared;
}

std::vector<Place> DevicePlaces(const trace::Trace& trace, const analyze::Facts& facts,
                                const IntervalSet& window, HostPlaces& host, PerUnit unit) {
  const Interval hull = window.hull();
  const trace::DeviceWork& work = trace.device;
  const analyze::DeviceTimeline& device = facts.timeline->main_device();
  const analyze::WorkClasses classes(trace);
  Exposure exposure(device, window);
  PlaceIndex index(trace, host);
  for (RowId i = 0; i < work.size(); ++i) {
    if (trace.streams[work.stream[i]].device != device.device) continue;
    if (work.start_ns[i] >= hull.end_ns) break;
    const Nanos sum = window.LengthWithin({work.start_ns[i], work.end_ns(i)});
    // Work without a length counts where it starts.
    if (sum == 0 && (work.duration_ns[i] > 0 || !window.Holds(work.start_ns[i]))) continue;
    const RowId around = work.op[i] != kNoRow ? work.op[i] : work.api[i];
    Place& place = index.At(around, work.op[i], work.name[i], classes[i], i);
    ++place.count;
    place.sum_ns = analyze::SaturatingAdd(place.sum_ns, sum);
    place.exposed_ns += exposure.Take(classes[i], {work.start_ns[i], work.end_ns(i)});
  }
  MeasureUnits(index.places, unit);
  return std::move(index.places);
}

}  // namespace hone::diff
