// SPDX-License-Identifier: Apache-2.0
// blocking-copy: the host waits for copies to the device.
#include "doctor/rules/rules.h"

namespace hone::doctor {

Judgement JudgeBlockingCopy(const Case& /*the_case*/) { return Judgement::Quiet(); }

}  // namespace hone::doctor
