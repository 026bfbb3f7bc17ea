// SPDX-License-Identifier: Apache-2.0
// What the doctor found: the list of the first screen, and every finding in full.
#pragma once

#include <ostream>

#include "report/report.h"
#include "report/text/breakdown.h"
#include "report/text/style.h"

namespace hone::report {

inline constexpr std::size_t kFirstFindings = 5;  // on the first screen

// "What to do, best first", what all of it gives together, and what the recorder itself costs.
// `breakdown` names the largest idle cause where nothing was found.
void WriteFindings(const Report& report, const Known<Breakdown>& breakdown, bool all,
                   const Style& style, std::ostream& out);

// Every finding with its evidence, places and remedy.
void WriteFindingsInFull(const Report& report, const Style& style, std::ostream& out);

// Rules that lacked the data to look, grouped by what is missing; the first few groups unless
// `all`.
void WriteNotChecked(const Report& report, bool all, const Style& style, std::ostream& out);

}  // namespace hone::report
