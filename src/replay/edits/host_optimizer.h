// SPDX-License-Identifier: Apache-2.0
// unfused-optimizer where there is no device: PyTorch has fused ones for the CPU too, and goes
// through the parameters one operator after the other unless told.
#pragma once

#include <vector>

#include "replay/edits/edits.h"
#include "replay/model.h"

namespace hone::replay {

// `steps`: marks of an optimizer's steps, rows of Trace::host.
FoundEdit FindHostOptimizer(const Model& model, const std::vector<trace::RowId>& steps);

}  // namespace hone::replay
