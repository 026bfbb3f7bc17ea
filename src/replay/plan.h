// SPDX-License-Identifier: Apache-2.0
// Plan: a graph with changes. Edits write it, the replay reads it; the graph itself never changes.
#pragma once

#include <vector>

#include "replay/graph.h"

namespace hone::replay {

struct Plan {
  explicit Plan(const Graph& graph);

  std::vector<Nanos> duration_ns;       // by task
  std::vector<Nanos> lag_ns;            // by task
  std::vector<std::uint8_t> edges_off;  // by task: its edges do not count
  // By task: takes something that is made beside the lanes, one every so often; 0: takes nothing.
  // A loader makes batches so, up to a few ahead.
  std::vector<Nanos> apart_ns;

  // The work vanishes: no time, no launch, no turn-around. Its call's host time stays.
  void RemoveWork(TaskId task);
  // The call that launched it vanishes too, and `dispatch` of the host code that led up to it.
  void RemoveLaunch(const Graph& graph, TaskId call, double dispatch);
  // The call returns at once.
  void DropWait(TaskId task) { edges_off[task] = 1; }
};

}  // namespace hone::replay
