// SPDX-License-Identifier: Apache-2.0
// The first rows of the tables that matter most, for the first screen.
#pragma once

#include <ostream>

#include "report/report.h"
#include "report/words/style.h"

namespace hone::report {

// Nothing where there is no such table.
void WriteTopKernels(const Report& report, const Style& style, std::ostream& out);
// By the device time they launch; by host time in traces without device work.
void WriteTopOps(const Report& report, const Style& style, std::ostream& out);
void WriteRanks(const Report& report, const Style& style, std::ostream& out);

}  // namespace hone::report
