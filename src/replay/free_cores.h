// SPDX-License-Identifier: Apache-2.0
// Workers of a loader share the cores with the program's own threads: where an edit takes time out
// of those, batches are made faster.
#pragma once

#include "replay/plan.h"

namespace hone::replay {

// `before` is the plan without the edits that took time out of `after`; it may hold the recorder's.
// Only what lane 0 does beside its fetches counts. Larger batches have a pace of their own and stay
// as they are. O(tasks).
void FreeCores(const Graph& graph, const Plan& before, Plan& after);

}  // namespace hone::replay
