// SPDX-License-Identifier: Apache-2.0
// Findings in full, and the rules that could not look.
#pragma once

#include <ostream>

#include "report/report.h"
#include "report/words/style.h"

namespace hone::report {

// Every finding with its evidence, places and remedy.
void WriteFindingsInFull(const Report& report, const Style& style, std::ostream& out);

// Rules that lacked the data to look, grouped by what is missing; the first few groups unless
// `all`.
void WriteNotChecked(const Report& report, bool all, const Style& style, std::ostream& out);

}  // namespace hone::report
