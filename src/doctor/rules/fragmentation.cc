// SPDX-License-Identifier: Apache-2.0
// fragmentation: much of the reserved memory cannot be used.
#include "doctor/rules/rules.h"

namespace hone::doctor {

Judgement JudgeFragmentation(const Case& /*the_case*/) { return Judgement::Quiet(); }

}  // namespace hone::doctor
