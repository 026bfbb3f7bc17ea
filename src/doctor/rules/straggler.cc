// SPDX-License-Identifier: Apache-2.0
// straggler: one rank keeps the others waiting.
#include "doctor/rules/rules.h"

namespace hone::doctor {

Judgement JudgeStraggler(const Case& /*the_case*/) { return Judgement::Quiet(); }

}  // namespace hone::doctor
