// SPDX-License-Identifier: Apache-2.0
// The loader's workers as a lane of their own: batches come no faster than they make them.
#pragma once

#include "replay/draft.h"

namespace hone::replay {

// When the median fetch waits for this share of the time between two fetches or more, the workers
// set the pace; below it their speed cannot be seen. A few long waits (an epoch's end) do not
// count.
inline constexpr double kWorkersSetPace = 0.05;

// After the host's lanes. Only for loaders with workers: a loader in the process itself is host
// code like any other.
void AddWorkerLane(const GraphInput& input, Draft& draft);

}  // namespace hone::replay
