// SPDX-License-Identifier: Apache-2.0
#include "replay/plan.h"

#include <algorithm>
#include <cmath>

namespace hone::replay {

Plan::Plan(const Graph& graph) : edges_off(graph.tasks.size(), 0) {
  duration_ns.reserve(graph.tasks.size());
  lag_ns.reserve(graph.tasks.size());
  for (const Task& task : graph.tasks) {
    duration_ns.push_back(task.duration_ns);
    lag_ns.push_back(task.lag_ns);
  }
}

void Plan::ScaleHost(const Graph& graph, std::uint16_t lane, trace::Interval span, double factor) {
  // Tasks are in order of start, and a host lane's do not overlap: begin with the last one that
  // starts before the span.
  auto first = static_cast<std::size_t>(
      std::lower_bound(graph.tasks.begin(), graph.tasks.end(), span.begin_ns,
                       [](const Task& task, Nanos time) { return task.start_ns < time; }) -
      graph.tasks.begin());
  const auto scale = [&](std::size_t t) {
    const Task& task = graph.tasks[t];
    if (task.duration_ns <= 0) return;
    const Nanos begin = std::max(span.begin_ns, task.start_ns);
    const Nanos end = std::min(span.end_ns, task.start_ns + task.duration_ns);
    if (begin >= end) return;
    const double share = static_cast<double>(end - begin) / static_cast<double>(task.duration_ns);
    duration_ns[t] =
        std::llround(static_cast<double>(duration_ns[t]) * (1.0 - share * (1.0 - factor)));
  };
  for (std::size_t t = first; t-- > 0;) {
    if (graph.tasks[t].lane != lane) continue;
    scale(t);
    break;
  }
  for (std::size_t t = first; t < graph.tasks.size() && graph.tasks[t].start_ns < span.end_ns;
       ++t) {
    if (graph.tasks[t].lane == lane) scale(t);
  }
}

void Plan::RemoveWork(TaskId task) {
  duration_ns[task] = 0;
  lag_ns[task] = 0;
  edges_off[task] = 1;
}

}  // namespace hone::replay
