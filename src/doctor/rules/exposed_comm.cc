// SPDX-License-Identifier: Apache-2.0
// exposed-comm: the device waits for communication.
#include "doctor/rules/rules.h"

namespace hone::doctor {

Judgement JudgeExposedComm(const Case& /*the_case*/) { return Judgement::Quiet(); }

}  // namespace hone::doctor
