// SPDX-License-Identifier: Apache-2.0
// naive-attention: attention is spelled out in matmul and softmax.
#include "doctor/rules/rules.h"

namespace hone::doctor {

Judgement JudgeNaiveAttention(const Case& /*the_case*/) { return Judgement::Quiet(); }

}  // namespace hone::doctor
