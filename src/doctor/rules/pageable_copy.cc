// SPDX-License-Identifier: Apache-2.0
// pageable-copy: batches are copied out of pageable memory.
#include "doctor/rules/rules.h"

namespace hone::doctor {

Judgement JudgePageableCopy(const Case& /*the_case*/) { return Judgement::Quiet(); }

}  // namespace hone::doctor
