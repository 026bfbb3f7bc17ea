// SPDX-License-Identifier: Apache-2.0
// recompile: torch.compile compiles again inside the steps.
#include "doctor/rules/rules.h"

namespace hone::doctor {

Judgement JudgeRecompile(const Case& /*the_case*/) { return Judgement::Quiet(); }

}  // namespace hone::doctor
