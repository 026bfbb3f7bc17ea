// SPDX-License-Identifier: Apache-2.0
// Plan: a graph with changes. Edits write it, the replay reads it; the graph itself never changes.
#pragma once

#include <cstdint>
#include <vector>

#include "replay/graph.h"
#include "trace/interval.h"

namespace hone::replay {

// Half: multiplies in half precision now. Fused: is part of a fused attention, whose fp32 form
// does not gain by TF32 (GPT-2 on an H200: 97.4 ms a step with TF32, 88 with fused attention too).
enum class MatrixMode : std::uint8_t { kAsRecorded, kHalf, kFused };

// Which edges of a task hold it. Of device: events of other streams, not its launch.
enum class Held : std::uint8_t { kByAll, kByDevice, kByNone };

// Host code in one place that an edit has made something else of: what is left is not there for
// others to shorten.
struct Settled {
  std::uint16_t lane = 0;
  trace::Interval span;  // measured time
  Nanos gone_ns = 0;     // of the host's own time inside
};

struct Plan {
  explicit Plan(const Graph& graph);

  std::vector<Nanos> duration_ns;  // by task
  std::vector<Nanos> lag_ns;       // by task
  std::vector<Held> held;          // by task
  // By task: takes something that is made beside the lanes, one every so often; 0: takes nothing.
  // A loader makes batches so, up to a few ahead.
  std::vector<Nanos> apart_ns;
  // Where they are made on cores that lane 0 wants too: how much later for each nanosecond that it
  // is busy beside taking them, and the soonest that they can be made.
  double apart_share = 0;
  Nanos apart_least_ns = 0;

  // By task, of copies: runs beside its stream, in turn with others like it, as soon as it is
  // launched; what follows it on its stream waits for the copy so many before it instead. 0: stays
  // in line; empty: all do.
  std::vector<std::uint32_t> ahead;

  // By task: what another edit made of its matrix work; empty: nothing.
  std::vector<MatrixMode> matrix;
  // By task: of its duration, what goes to changing the layout of tensors that the trace shows
  // unchanged; empty: nothing.
  std::vector<Nanos> layout_ns;

  // By lane and time, none inside another; empty: nothing.
  std::vector<Settled> settled;

  // A step does the work of so many recorded ones: its batch is so many times as large.
  double samples = 1;

  MatrixMode MatrixOf(TaskId task) const {
    return matrix.empty() ? MatrixMode::kAsRecorded : matrix[task];
  }
  void SetMatrix(TaskId task, MatrixMode mode) {
    if (matrix.empty()) matrix.resize(duration_ns.size(), MatrixMode::kAsRecorded);
    matrix[task] = mode;
  }

  std::uint32_t AheadOf(TaskId task) const { return ahead.empty() ? 0 : ahead[task]; }
  void SetAhead(TaskId task, std::uint32_t copies) {
    if (ahead.empty()) ahead.resize(duration_ns.size(), 0);
    ahead[task] = copies;
  }

  bool Holds(const Graph& graph, TaskId task, const Edge& edge) const {
    if (held[task] == Held::kByAll) return true;
    return held[task] == Held::kByDevice &&
           graph.lanes[graph.tasks[edge.from].lane].kind == LaneKind::kStream;
  }

  // The work vanishes: no time, no launch, no turn-around. Its call's host time stays, and what it
  // waited for on other streams now holds what comes after it.
  void RemoveWork(TaskId task);
  // The call that launched it vanishes too, and `dispatch` of the host code that led up to it.
  void RemoveLaunch(const Graph& graph, TaskId call, double dispatch);
  // The call returns at once.
  void DropWait(TaskId task) { held[task] = Held::kByNone; }
};

}  // namespace hone::replay
