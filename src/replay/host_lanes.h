// SPDX-License-Identifier: Apache-2.0
// The host's lanes of a graph: what each launching thread does between and in its calls.
#pragma once

#include "replay/device_index.h"
#include "replay/draft.h"

namespace hone::replay {

// Fills lanes, tasks and edges of the draft for every thread that launches work in the window, the
// thread of the steps first. O(host rows in the window + handoffs).
void AddHostLanes(const GraphInput& input, const DeviceIndex& index, Draft& draft);

}  // namespace hone::replay
