// SPDX-License-Identifier: Apache-2.0
// Where torch.compile compiles: shared by the edit and the rule.
#pragma once

#include <vector>

#include "replay/model.h"

namespace hone::replay {

// Outermost slices of the window in which something is compiled: Dynamo's timed phases ("…
// (dynamo_timed)"), and their Python frames where stacks were recorded. In row order.
std::vector<trace::RowId> FindCompiles(const Model& model);

}  // namespace hone::replay
