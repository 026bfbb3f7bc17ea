// SPDX-License-Identifier: Apache-2.0
// Replacing several kernels by one: what fusing edits share.
#pragma once

#include <span>

#include "replay/model.h"
#include "replay/plan.h"

namespace hone::replay {

// The first work takes `duration_ns`; the others vanish together with their launches and `dispatch`
// of the host code that led up to each.
void ReplaceByOne(const Model& model, std::span<const TaskId> work, Nanos duration_ns,
                  double dispatch, Plan& plan);

// Sum of planned durations.
double PlannedTime(std::span<const TaskId> work, const Plan& plan);

}  // namespace hone::replay
