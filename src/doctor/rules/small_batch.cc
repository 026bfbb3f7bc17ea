// SPDX-License-Identifier: Apache-2.0
// small-batch: kernels are too small to fill the device.
#include "doctor/rules/rules.h"

namespace hone::doctor {

Judgement JudgeSmallBatch(const Case& /*the_case*/) { return Judgement::Quiet(); }

}  // namespace hone::doctor
