// SPDX-License-Identifier: Apache-2.0
// Device timeline: where the device's time goes. Unions, never sums. docs/user/timeline.md.
#pragma once

#include <vector>

#include "analyze/work_class.h"
#include "base/known.h"
#include "trace/interval.h"
#include "trace/trace.h"

namespace hone::analyze {

// For the work of one device inside one window, W = hull of the work unless a window is given:
//   busy         = |∪ all|              compute      = |∪ compute|
//   exposed_comm = |∪ comm − ∪ compute|  exposed_copy = |∪ copy − ∪ compute − ∪ comm|
//   idle         = |W| − busy            busy = compute + exposed_comm + exposed_copy
struct TimelineSplit {
  trace::IntervalSet window;
  Nanos total_ns = 0, busy_ns = 0, compute_ns = 0, exposed_comm_ns = 0, exposed_copy_ns = 0,
        idle_ns = 0;
  Nanos comm_ns = 0, copy_ns = 0;  // |∪ comm|, |∪ copy|, hidden or not
};

struct DeviceTimeline {
  trace::RowId device = trace::kNoRow;  // row of Trace::devices
  std::size_t work_count = 0;
  TimelineSplit whole;   // W: hull of all work on the device, without idle time in holes
  TimelineSplit steady;  // W: Steps::steady_window, gaps at its edges included
  trace::IntervalSet busy, compute, comm, copy;  // whole trace
};

struct Timeline {
  std::vector<DeviceTimeline> devices;  // those with work, by device row
  std::size_t main = 0;  // index of the device with most busy time; reports lead with it
  const DeviceTimeline& main_device() const { return devices[main]; }
};

// Absent when the trace has no device work. `holes`: Steps::hole_spans.
Known<Timeline> ComputeTimeline(const trace::Trace& trace, const WorkClasses& classes,
                                const trace::IntervalSet& steady_window,
                                const trace::IntervalSet& holes = {});

// The parts of both sum: of several intervals, those of each.
TimelineSplit SplitWindow(const DeviceTimeline& device, trace::Interval window);
TimelineSplit SplitWindow(const DeviceTimeline& device, const trace::IntervalSet& window);

}  // namespace hone::analyze
