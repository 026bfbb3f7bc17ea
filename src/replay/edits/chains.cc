// SPDX-License-Identifier: Apache-2.0
#include "replay/edits/chains.h"

namespace hone::replay {

double PlannedTime(std::span<const TaskId> work, const Plan& plan) {
  double time = 0;
  for (const TaskId task : work) time += static_cast<double>(plan.duration_ns[task]);
  return time;
}

void ReplaceByOne(const Model& model, std::span<const TaskId> work, Nanos duration_ns,
                  double dispatch, Plan& plan) {
  const Graph& graph = model.graph();
  for (std::size_t i = 1; i < work.size(); ++i) {
    plan.RemoveWork(work[i]);
    const trace::RowId call = model.trace().device.api[graph.tasks[work[i]].row];
    if (call == trace::kNoRow || graph.of_host[call] == kNoTask) continue;
    // A graph launch carries many kernels; it stays.
    if (model.calls()[call] == analyze::ApiClass::kGraphLaunch) continue;
    plan.RemoveLaunch(graph, graph.of_host[call], dispatch);
  }
  if (!work.empty()) plan.duration_ns[work[0]] = duration_ns;
}

}  // namespace hone::replay
