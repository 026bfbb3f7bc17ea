// SPDX-License-Identifier: Apache-2.0
// gpu-throttled: the device runs below its clock.
#include "doctor/rules/rules.h"

namespace hone::doctor {

Judgement JudgeGpuThrottled(const Case& /*the_case*/) { return Judgement::Quiet(); }

}  // namespace hone::doctor
