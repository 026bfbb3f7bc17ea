// SPDX-License-Identifier: Apache-2.0
// launch-bound: the host launches kernels more slowly than the device runs them.
#include "doctor/rules/rules.h"

namespace hone::doctor {

Judgement JudgeLaunchBound(const Case& /*the_case*/) { return Judgement::Quiet(); }

}  // namespace hone::doctor
