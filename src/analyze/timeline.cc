// SPDX-License-Identifier: Apache-2.0
#include "analyze/timeline.h"

#include <algorithm>

namespace hone::analyze {
namespace {

using trace::Interval;
using trace::IntervalSet;

// The part of `set` inside `window`. O(log n + parts), so that a split per step stays linear.
IntervalSet Clip(const IntervalSet& set, Interval window) {
  const auto all = set.span();
  auto it = std::upper_bound(all.begin(), all.end(), window.begin_ns,
                             [](Nanos t, const Interval& i) { return t < i.end_ns; });
  IntervalSet out;
  for (; it != all.end() && it->begin_ns < window.end_ns; ++it) {
    out.AppendSorted(
        {std::max(it->begin_ns, window.begin_ns), std::min(it->end_ns, window.end_ns)});
  }
  return out;
}

// |set| − |set ∩ hidden by|
Nanos Exposed(const IntervalSet& set, const IntervalSet& cover) {
  return set.length() - trace::IntersectLength(set, cover);
}

}  // namespace

TimelineSplit SplitWindow(const DeviceTimeline& device, Interval window) {
  TimelineSplit split;
  split.window = window;
  if (window.end_ns <= window.begin_ns) return split;
  const IntervalSet compute = Clip(device.compute, window);
  const IntervalSet comm = Clip(device.comm, window);
  const IntervalSet copy = Clip(device.copy, window);
  split.total_ns = window.length();
  split.compute_ns = compute.length();
  split.comm_ns = comm.length();
  split.copy_ns = copy.length();
  split.exposed_comm_ns = Exposed(comm, compute);
  split.exposed_copy_ns = copy.empty() ? 0 : Exposed(copy, trace::Unite(compute, comm));
  split.busy_ns = split.compute_ns + split.exposed_comm_ns + split.exposed_copy_ns;
  split.idle_ns = split.total_ns - split.busy_ns;
  return split;
}

Known<Timeline> ComputeTimeline(const trace::Trace& trace, const WorkClasses& classes,
                                Interval steady_window) {
  const trace::DeviceWork& work = trace.device;
  if (work.size() == 0) return Known<Timeline>::Absent("no device work in this trace");

  struct Hull {
    Interval span{INT64_MAX, INT64_MIN};
  };
  std::vector<DeviceTimeline> devices(trace.devices.size());
  std::vector<Hull> hulls(trace.devices.size());
  // Rows are sorted by start, so every set grows at its end.
  for (trace::RowId i = 0; i < work.size(); ++i) {
    const trace::RowId row = trace.streams[work.stream[i]].device;
    if (row >= devices.size()) continue;
    DeviceTimeline& device = devices[row];
    const Interval span{work.start_ns[i], work.end_ns(i)};
    ++device.work_count;
    hulls[row].span.begin_ns = std::min(hulls[row].span.begin_ns, span.begin_ns);
    hulls[row].span.end_ns = std::max(hulls[row].span.end_ns, span.end_ns);
    device.busy.AppendSorted(span);
    switch (classes[i]) {
      case WorkClass::kCompute: device.compute.AppendSorted(span); break;
      case WorkClass::kCommunication: device.comm.AppendSorted(span); break;
      case WorkClass::kCopy: device.copy.AppendSorted(span); break;
    }
  }

  Timeline timeline;
  for (trace::RowId row = 0; row < devices.size(); ++row) {
    if (devices[row].work_count == 0) continue;
    DeviceTimeline& device = devices[row];
    device.device = row;
    device.whole = SplitWindow(device, hulls[row].span);
    device.steady = SplitWindow(device, steady_window);
    timeline.devices.push_back(std::move(device));
    const auto& main = timeline.devices[timeline.main];
    if (timeline.devices.back().whole.busy_ns > main.whole.busy_ns) {
      timeline.main = timeline.devices.size() - 1;
    }
  }
  if (timeline.devices.empty()) {
    return Known<Timeline>::Absent("device work names no device in this trace");
  }
  return timeline;
}

}  // namespace hone::analyze
