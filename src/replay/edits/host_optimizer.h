// SPDX-License-Identifier: Apache-2.0
// unfused-optimizer where there is no device: PyTorch has fused ones for the CPU too, and goes
// through the parameters one operator after the other unless told.
#pragma once

#include "replay/edits/edits.h"
#include "replay/model.h"

namespace hone::replay {

// Of a model that has steps of an optimizer.
FoundEdit FindHostOptimizer(const Model& model);

}  // namespace hone::replay
