// SPDX-License-Identifier: Apache-2.0
#include "replay/edits/step_growth.h"

#include <cmath>

namespace hone::replay {

void GrowInput(const Graph& graph, double times, Plan& plan) {
  for (TaskId t = 0; t < graph.tasks.size(); ++t) {
    if (graph.tasks[t].kind != TaskKind::kInput) continue;
    // Taking a batch that others made ready costs the same; making it does not.
    Nanos& grows = plan.apart_ns[t] > 0 ? plan.apart_ns[t] : plan.duration_ns[t];
    grows = std::llround(static_cast<double>(grows) * times);
  }
}

}  // namespace hone::replay
