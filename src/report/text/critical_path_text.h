// SPDX-License-Identifier: Apache-2.0
// `hone analyze --critical-path`: what decides how long a step takes.
#pragma once

#include <ostream>

#include "report/report.h"
#include "report/words/style.h"

namespace hone::report {

void WriteCriticalPath(const Report& report, const Style& style, std::ostream& out);

}  // namespace hone::report
