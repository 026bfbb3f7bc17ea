// SPDX-License-Identifier: Apache-2.0
#include "replay/plan.h"

#include <algorithm>
#include <cmath>

namespace hone::replay {

Plan::Plan(const Graph& graph)
    : held(graph.tasks.size(), Held::kByAll), apart_ns(graph.tasks.size(), 0) {
  duration_ns.reserve(graph.tasks.size());
  lag_ns.reserve(graph.tasks.size());
  for (const Task& task : graph.tasks) {
    duration_ns.push_back(task.duration_ns);
    lag_ns.push_back(task.lag_ns);
  }
}

void Plan::RemoveWork(TaskId task) {
  duration_ns[task] = 0;
  lag_ns[task] = 0;
  held[task] = Held::kByDevice;
}

void Plan::RemoveLaunch(const Graph& graph, TaskId call, double dispatch) {
  duration_ns[call] = std::min(duration_ns[call], graph.LoadingOf(call));
  const TaskId before = graph.before[call];
  if (before == kNoTask || graph.tasks[before].kind != TaskKind::kHost) return;
  duration_ns[before] = std::llround(static_cast<double>(duration_ns[before]) * (1.0 - dispatch));
}

}  // namespace hone::replay
