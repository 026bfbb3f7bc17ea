// SPDX-License-Identifier: Apache-2.0
// cpu-oversubscribed: more threads want to run than there are cores.
#include "doctor/rules/rules.h"

namespace hone::doctor {

Judgement JudgeCpuOversubscribed(const Case& /*the_case*/) { return Judgement::Quiet(); }

}  // namespace hone::doctor
