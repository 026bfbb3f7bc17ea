// SPDX-License-Identifier: Apache-2.0
// The answer to `hone diff` as one page that needs nothing else: no network, no script.
#pragma once

#include <ostream>
#include <string>
#include <string_view>

#include "report/diff/diff_report.h"

namespace hone::report {

// Safe as text and as a quoted attribute's value.
std::string HtmlText(std::string_view text);

void WriteDiffHtml(const DiffReport& report, std::ostream& out);

}  // namespace hone::report
