// SPDX-License-Identifier: Apache-2.0
// no-tensor-cores: matrix work runs without tensor cores.
#include "doctor/rules/rules.h"

namespace hone::doctor {

Judgement JudgeNoTensorCores(const Case& /*the_case*/) { return Judgement::Quiet(); }

}  // namespace hone::doctor
