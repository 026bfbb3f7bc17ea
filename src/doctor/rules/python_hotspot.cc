// SPDX-License-Identifier: Apache-2.0
// python-hotspot: Python code outside operators takes the time.
#include "doctor/rules/rules.h"

namespace hone::doctor {

Judgement JudgePythonHotspot(const Case& /*the_case*/) { return Judgement::Quiet(); }

}  // namespace hone::doctor
