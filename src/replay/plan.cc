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

// Calls `visit(task, share)` for each task of the lane with the share of it that lies in the span.
template <typename Visit>
void Plan::OverHost(const Graph& graph, std::uint16_t lane, trace::Interval span, Visit&& visit) {
  const auto look = [&](TaskId t) {
    const Task& task = graph.tasks[t];
    if (task.duration_ns <= 0) return;
    const Nanos begin = std::max(span.begin_ns, task.start_ns);
    const Nanos end = std::min(span.end_ns, task.start_ns + task.duration_ns);
    if (begin >= end) return;
    visit(t, static_cast<double>(end - begin) / static_cast<double>(task.duration_ns));
  };
  // Tasks are in order of start, and a host lane's do not overlap: one may reach into the span.
  const auto first = static_cast<TaskId>(
      std::lower_bound(graph.tasks.begin(), graph.tasks.end(), span.begin_ns,
                       [](const Task& task, Nanos time) { return task.start_ns < time; }) -
      graph.tasks.begin());
  bool seen = false;
  for (TaskId t = first; t < graph.tasks.size() && graph.tasks[t].start_ns < span.end_ns; ++t) {
    if (graph.tasks[t].lane != lane) continue;
    if (!seen && graph.before[t] != kNoTask) look(graph.before[t]);
    seen = true;
    look(t);
  }
  if (seen) return;
  for (TaskId t = first; t-- > 0;) {
    if (graph.tasks[t].lane != lane) continue;
    look(t);
    return;
  }
}

void Plan::ScaleHost(const Graph& graph, std::uint16_t lane, trace::Interval span, double factor) {
  OverHost(graph, lane, span, [&](TaskId t, double share) {
    duration_ns[t] =
        std::llround(static_cast<double>(duration_ns[t]) * (1.0 - share * (1.0 - factor)));
  });
}

double Plan::HostTime(const Graph& graph, std::uint16_t lane, trace::Interval span) const {
  double time = 0;
  OverHost(graph, lane, span,
           [&](TaskId t, double share) { time += share * static_cast<double>(duration_ns[t]); });
  return time;
}

void Plan::RemoveWork(TaskId task) {
  duration_ns[task] = 0;
  lag_ns[task] = 0;
  edges_off[task] = 1;
}

void Plan::RemoveLaunch(const Graph& graph, TaskId call, double dispatch) {
  duration_ns[call] = 0;
  const TaskId before = graph.before[call];
  if (before == kNoTask || graph.tasks[before].kind != TaskKind::kHost) return;
  duration_ns[before] = std::llround(static_cast<double>(duration_ns[before]) * (1.0 - dispatch));
}

}  // namespace hone::replay
