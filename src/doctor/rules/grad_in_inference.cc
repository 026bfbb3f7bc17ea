// SPDX-License-Identifier: Apache-2.0
// grad-in-inference: inference records what a backward pass would need.
#include "doctor/rules/rules.h"

namespace hone::doctor {

Judgement JudgeGradInInference(const Case& /*the_case*/) { return Judgement::Quiet(); }

}  // namespace hone::doctor
