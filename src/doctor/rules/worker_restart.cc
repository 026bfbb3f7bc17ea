// SPDX-License-Identifier: Apache-2.0
// worker-restart: the loader's workers are started anew for every epoch.
#include "doctor/rules/rules.h"

namespace hone::doctor {

Judgement JudgeWorkerRestart(const Case& /*the_case*/) { return Judgement::Quiet(); }

}  // namespace hone::doctor
