// SPDX-License-Identifier: Apache-2.0
// Code that runs after a long stretch of other code finds the caches cold and takes longer. Where
// that stretch is taken out of a step, so is what it cost the code behind it.
#pragma once

#include "replay/edit.h"
#include "replay/plan.h"

namespace hone::replay {

// `before` is the plan without the edits that took time out of `after`. O(tasks).
void KeepWarm(const Graph& graph, const Plan& before, Guess guess, Plan& after);

}  // namespace hone::replay
