// SPDX-License-Identifier: Apache-2.0
// The replay itself: one pass over the tasks, in measured order.
#pragma once

#include <vector>

#include "replay/graph.h"
#include "replay/plan.h"

namespace hone::replay {

// Length of the window as replayed from its measured beginning: what the unchanged plan must
// reproduce.
Nanos ReplayWindow(const Graph& graph, const Plan& plan);

// Step time in the long run: the window is repeated until the slowest lane sets the pace, so that a
// host that runs ahead of its device is not mistaken for speed.
double SteadyStep(const Graph& graph, const Plan& plan);

struct Times {
  std::vector<Nanos> start_ns, end_ns;  // by task
};
Times ReplayOnce(const Graph& graph, const Plan& plan);

}  // namespace hone::replay
