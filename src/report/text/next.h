// SPDX-License-Identifier: Apache-2.0
// The last lines of the first screen: commands that go on from here.
#pragma once

#include <ostream>

#include "report/report.h"
#include "report/words/breakdown.h"
#include "report/words/style.h"

namespace hone::report {

void WriteNext(const Report& report, const Known<Breakdown>& breakdown, const Style& style,
               std::ostream& out);

}  // namespace hone::report
