// SPDX-License-Identifier: Apache-2.0
// Plan: a graph with changes. Edits write it, the replay reads it; the graph itself never changes.
#pragma once

#include <vector>

#include "replay/graph.h"
#include "trace/interval.h"

namespace hone::replay {

struct Plan {
  explicit Plan(const Graph& graph);

  std::vector<Nanos> duration_ns;       // by task
  std::vector<Nanos> lag_ns;            // by task
  std::vector<std::uint8_t> edges_off;  // by task: its edges do not count

  // Host tasks of lane `lane` inside `span` (measured time) take `factor` of their time there;
  // waits for the device stay. 0 removes the code, its calls included.
  void ScaleHost(const Graph& graph, std::uint16_t lane, trace::Interval span, double factor);
  // The work vanishes: no time, no launch, no turn-around. Its call's host time stays.
  void RemoveWork(TaskId task);
  // The call that launched it vanishes too, and `dispatch` of the host code that led up to it.
  void RemoveLaunch(const Graph& graph, TaskId call, double dispatch);
  // Time that host tasks of the lane take inside `span` (measured time), as planned.
  double HostTime(const Graph& graph, std::uint16_t lane, trace::Interval span) const;
  // The call returns at once.
  void DropWait(TaskId task) { edges_off[task] = 1; }

 private:
  template <typename Visit>
  static void OverHost(const Graph& graph, std::uint16_t lane, trace::Interval span, Visit&& visit);
};

}  // namespace hone::replay
