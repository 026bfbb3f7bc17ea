// SPDX-License-Identifier: Apache-2.0
// memory-growth: memory grows from step to step.
#include "doctor/rules/rules.h"

namespace hone::doctor {

Judgement JudgeMemoryGrowth(const Case& /*the_case*/) { return Judgement::Quiet(); }

}  // namespace hone::doctor
