// SPDX-License-Identifier: Apache-2.0
#include "replay/free_cores.h"

#include <algorithm>

namespace hone::replay {

void FreeCores(const Graph& graph, const Plan& before, Plan& after) {
  if (after.apart_share <= 0 || after.samples != 1) return;
  double gone = 0, batches = 0;
  for (TaskId t = 0; t < graph.tasks.size(); ++t) {
    if (after.apart_ns[t] > 0) ++batches;
    if (graph.tasks[t].lane != 0 || graph.tasks[t].kind == TaskKind::kInput) continue;
    gone += static_cast<double>(before.duration_ns[t] + before.lag_ns[t]) -
            static_cast<double>(after.duration_ns[t] + after.lag_ns[t]);
  }
  if (gone <= 0 || batches == 0) return;
  const auto sooner = static_cast<Nanos>(after.apart_share * gone / batches);
  for (Nanos& apart : after.apart_ns) {
    if (apart > 0) apart = std::max({after.apart_least_ns, apart - sooner, Nanos{1}});
  }
}

}  // namespace hone::replay
