// SPDX-License-Identifier: Apache-2.0
// kv-cache-unused: every new token computes the whole prefix again.
#include "doctor/rules/rules.h"

namespace hone::doctor {

Judgement JudgeKvCacheUnused(const Case& /*the_case*/) { return Judgement::Quiet(); }

}  // namespace hone::doctor
