// SPDX-License-Identifier: Apache-2.0
// comm-unoverlapped: communication and compute take turns.
#include "doctor/rules/rules.h"

namespace hone::doctor {

Judgement JudgeCommUnoverlapped(const Case& /*the_case*/) { return Judgement::Quiet(); }

}  // namespace hone::doctor
