// SPDX-License-Identifier: Apache-2.0
// What the doctor found, as the first screen tells it.
#pragma once

#include <ostream>

#include "report/report.h"
#include "report/words/breakdown.h"
#include "report/words/style.h"

namespace hone::report {

inline constexpr std::size_t kFirstFindings = 5;  // on the first screen

// "What to do, best first", what all of it gives together, and what the recorder itself costs.
// `breakdown` names the largest idle cause where nothing was found.
void WriteFindings(const Report& report, const Known<Breakdown>& breakdown, bool all,
                   const Style& style, std::ostream& out);

}  // namespace hone::report
