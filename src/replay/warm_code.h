// SPDX-License-Identifier: Apache-2.0
// Code that runs after a long pause finds the caches cold and takes longer. Where the pause is
// taken out of a step, so is what it cost the code behind it.
#pragma once

#include "replay/edit.h"
#include "replay/plan.h"

namespace hone::replay {

// `before` is the plan without the edits that took time out of `after`. A pause is a stretch of
// tasks, one after the other, in which no operator began, or a fetch: operators that get shorter
// leave no pause behind. Graphs with a device stay as they are: what a pause costs the code that
// launches was not measured. O(tasks).
void KeepWarm(const Graph& graph, const Plan& before, Guess guess, Plan& after);

}  // namespace hone::replay
