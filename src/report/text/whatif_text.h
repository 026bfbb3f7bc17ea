// SPDX-License-Identifier: Apache-2.0
// The answer to `hone whatif` for people.
#pragma once

#include <ostream>

#include "base/known.h"
#include "report/report.h"
#include "report/whatif_answer.h"
#include "report/words/style.h"

namespace hone::report {

// No line is wider than style.width (at least kLeastWidth).
void WriteWhatIf(const Report& report, const Known<WhatIfAnswer>& answer, const Style& style,
                 std::ostream& out);
// --list: every fix there is, those with something to change here first.
void WriteWhatIfList(const Report& report, const Known<WhatIfAnswer>& answer, const Style& style,
                     std::ostream& out);

}  // namespace hone::report
