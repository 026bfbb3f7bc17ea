// SPDX-License-Identifier: Apache-2.0
// The answer to `hone diff` as one page that needs nothing else: no network, no script.
#pragma once

#include <ostream>

#include "report/diff/diff_report.h"

namespace hone::report {

void WriteDiffHtml(const DiffReport& report, std::ostream& out);

}  // namespace hone::report
