// SPDX-License-Identifier: Apache-2.0
#include "analyze/timeline.h"

#include <algorithm>

namespace hone::analyze {
namespace {

using trace::Interval;
using trace::IntervalSet;

auto FirstWithin(const IntervalSet& set, Interval window) {
  const auto all = set.span();
  return std::upper_bound(all.begin(), all.end(), window.begin_ns,
                          [](Nanos t, const Interval& i) { return t < i.end_ns; });
}

// |a ∩ b| inside `window`, without copies: sets of millions of intervals are split per step.
Nanos IntersectWithin(const IntervalSet& a, const IntervalSet& b, Interval window) {
  auto ia = FirstWithin(a, window);
  auto ib = FirstWithin(b, window);
  Nanos sum = 0;
  while (ia != a.span().end() && ib != b.span().end()) {
    const Nanos begin = std::max({ia->begin_ns, ib->begin_ns, window.begin_ns});
    if (begin >= window.end_ns) break;
    sum += std::max<Nanos>(0, std::min({ia->end_ns, ib->end_ns, window.end_ns}) - begin);
    ia->end_ns < ib->end_ns ? ++ia : ++ib;
  }
  return sum;
}

}  // namespace

TimelineSplit SplitWindow(const DeviceTimeline& device, const IntervalSet& window) {
  TimelineSplit sum;
  for (const Interval& piece : window) {
    const TimelineSplit split = SplitWindow(device, piece);
    for (const auto part :
         {&TimelineSplit::total_ns, &TimelineSplit::busy_ns, &TimelineSplit::compute_ns,
          &TimelineSplit::exposed_comm_ns, &TimelineSplit::exposed_copy_ns, &TimelineSplit::idle_ns,
          &TimelineSplit::comm_ns, &TimelineSplit::copy_ns}) {
      sum.*part += split.*part;
    }
  }
  sum.window = window;
  return sum;
}

TimelineSplit SplitWindow(const DeviceTimeline& device, Interval window) {
  TimelineSplit split;
  split.window.AppendSorted(window);
  if (window.end_ns <= window.begin_ns) return split;
  split.total_ns = window.length();
  split.busy_ns = device.busy.LengthWithin(window);
  split.compute_ns = device.compute.LengthWithin(window);
  split.comm_ns = device.comm.LengthWithin(window);
  split.copy_ns = device.copy.LengthWithin(window);
  split.exposed_comm_ns = split.comm_ns - IntersectWithin(device.comm, device.compute, window);
  // What is busy with neither compute nor communication is a copy.
  split.exposed_copy_ns = split.busy_ns - split.compute_ns - split.exposed_comm_ns;
  split.idle_ns = split.total_ns - split.busy_ns;
  return split;
}

Known<Timeline> ComputeTimeline(const trace::Trace& trace, const WorkClasses& classes,
                                const IntervalSet& steady_window, const IntervalSet& holes) {
  const trace::DeviceWork& work = trace.device;
  if (work.size() == 0) {
    return Known<Timeline>::Absent(
        trace.losses[LossKind::kUnreadDevice].count > 0
            ? "the device's work stands in records that hone does not read"
            : "no device work in this trace");
  }

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
    const IntervalSet silent = trace::Subtract(holes, device.busy);
    device.whole = SplitWindow(device, trace::Complement(silent, hulls[row].span));
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
