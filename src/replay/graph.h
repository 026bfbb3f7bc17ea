// SPDX-License-Identifier: Apache-2.0
// Graph: the steady steps of a trace as tasks on lanes, and what each task waits for.
// The model and its limits: docs/user/whatif.md.
//
// A lane is a host thread, a stream of a device, or the loader's workers. A task starts when the
// task before it on its lane has ended (plus lag_ns), and no earlier than every edge allows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analyze/api_class.h"
#include "analyze/lineage.h"
#include "analyze/loader.h"
#include "analyze/steps.h"
#include "analyze/work_class.h"
#include "base/known.h"
#include "base/units.h"
#include "trace/interval.h"
#include "trace/trace.h"

namespace hone::replay {

using TaskId = std::uint32_t;
inline constexpr TaskId kNoTask = UINT32_MAX;

enum class TaskKind : std::uint8_t {
  kHost,      // code between calls: Python, dispatch, operators
  kInput,     // the launching thread fetches a batch, or the workers make one
  kLaunch,    // a call that queues device work
  kAllocate,  // cudaMalloc and kin
  kWait,      // end of a call that waits for the device; no length of its own
  kKernel,
  kCollective,
  kCopy,
};

struct Task {
  Nanos start_ns = 0;                // as measured
  Nanos duration_ns = 0;             // as measured, waiting left out
  Nanos lag_ns = 0;                  // least distance to the end of the task before it on the lane
  trace::RowId row = trace::kNoRow;  // Trace::host of calls and fetches, Trace::device of work
  std::uint16_t lane = 0;
  TaskKind kind = TaskKind::kHost;
  // Host tasks: slices that begin inside, which is what a profiler charges for.
  std::uint32_t ops = 0, calls = 0, python = 0;
};

struct Edge {
  TaskId from = kNoTask;
  bool from_start = false;  // counts from the start of `from`, not from its end
  Nanos lag_ns = 0;         // may be negative: clocks of host and device differ by microseconds
  // Of so many repetitions of the window ago, from its end: a host that runs ahead waits for work
  // of steps before.
  std::uint8_t laps = 0;
  Nanos ready_ns = INT64_MIN;  // laps: in the first repetition, as measured
};
inline constexpr std::uint8_t kMostLaps = 8;
inline constexpr std::uint8_t kUnseenLap = UINT8_MAX;  // work that the trace does not have

enum class LaneKind : std::uint8_t { kThread, kStream, kWorkers };

struct Lane {
  LaneKind kind = LaneKind::kThread;
  std::uint32_t row = 0;     // of Trace::threads or Trace::streams
  Nanos ready_ns = 0;        // work from before the window holds the lane until then
  std::uint32_t device = 0;  // of streams: row of Trace::devices
};

struct Graph {
  std::vector<Task> tasks;  // in the order in which they can be replayed
  std::vector<Edge> edges;  // of task t: [first_edge[t], first_edge[t + 1])
  std::vector<std::uint32_t> first_edge;
  std::vector<Lane> lanes;  // the thread that makes the steps is lane 0
  trace::Interval window;   // of the host
  Nanos begin_ns = 0;       // of the steps, on the clock that tells their length
  Nanos measured_ns = 0;    // of the steps, on that clock
  bool device_clock = false;
  std::size_t steps = 1;       // inside the window
  std::size_t first_step = 0;  // of the steady ones
  std::size_t all_steps = 1;   // steady steps of the trace; more than `steps` in large traces
  Nanos launch_lag_ns = 0;     // from a launch call to the start of its work on an idle stream
  Nanos turnaround_ns = 0;     // between two kernels that were both queued
  std::uint8_t laps = 0;       // the most of any edge
  std::uint64_t unlinked = 0;  // device work in the window whose launch the trace does not have
  // By task, of launches: what of it goes to loading the kernel at its first use; empty: nothing.
  // Whatever is launched instead has to be loaded too.
  std::vector<Nanos> loading_ns;
  std::vector<TaskId> before;     // by task: the one before it on its lane; kNoTask
  std::vector<TaskId> of_host;    // by row of Trace::host: the call's task; kNoTask
  std::vector<TaskId> of_device;  // by row of Trace::device; kNoTask: outside the window

  std::span<const Edge> EdgesOf(TaskId task) const {
    return {edges.data() + first_edge[task], edges.data() + first_edge[task + 1]};
  }
  Nanos LoadingOf(TaskId task) const { return loading_ns.empty() ? 0 : loading_ns[task]; }
  double measured_step_ns() const {
    return static_cast<double>(measured_ns) / static_cast<double>(steps);
  }
};

struct GraphInput {
  const trace::Trace& trace;
  const analyze::Steps& steps;
  const analyze::Lineage& lineage;
  const analyze::ApiCalls& calls;
  const analyze::WorkClasses& classes;
  analyze::LoaderMode loader = analyze::LoaderMode::kUnknown;
};

// Linear in the trace's rows but for the merge of the lanes. Large traces give some steady steps in
// a row (at most kMostWork pieces of device work, never less than one step), those whose mean is
// nearest to that of all that have their work. Absent without steps.
inline constexpr std::size_t kMostWork = 8'000;
Known<Graph> BuildGraph(const GraphInput& input);

}  // namespace hone::replay
