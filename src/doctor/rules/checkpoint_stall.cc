// SPDX-License-Identifier: Apache-2.0
// checkpoint-stall: the step waits while a checkpoint is written.
#include "doctor/rules/rules.h"

namespace hone::doctor {

Judgement JudgeCheckpointStall(const Case& /*the_case*/) { return Judgement::Quiet(); }

}  // namespace hone::doctor
