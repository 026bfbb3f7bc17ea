// SPDX-License-Identifier: Apache-2.0
// The answer to `hone diff` as a comment on a pull request.
#pragma once

#include <ostream>
#include <string>
#include <string_view>

#include "report/diff/diff_report.h"

namespace hone::report {

// Safe as text of GitHub's Markdown, also inside a table's cell: nothing in it is markup, HTML, a
// mention or a link.
std::string MarkdownText(std::string_view text);
// The same between backticks.
std::string MarkdownCode(std::string_view text);

// `limit`: rows of the folded tables of operators and kernels; 0: all.
void WriteDiffMarkdown(const DiffReport& report, std::size_t limit, std::ostream& out);

}  // namespace hone::report
