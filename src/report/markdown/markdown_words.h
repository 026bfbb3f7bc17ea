// SPDX-License-Identifier: Apache-2.0
// Text as Markdown (GitHub's and GitLab's dialect) that shows what it says, whatever it holds.
#pragma once

#include <initializer_list>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace hone::report {

// Plain text on one line: what Markdown or HTML would eat is escaped, control characters are made
// visible, and what is longer than 300 columns loses its middle.
std::string Markdown(std::string_view text);

// `text` in backticks, as many as it needs; for names and code inside a sentence or a table.
std::string MarkdownCode(std::string_view text);

// A block of code; the fence is longer than any in the text.
void WriteMarkdownCode(std::string_view language, std::string_view code, std::ostream& out);

// A table. `aligns`: one letter a column, 'l' or 'r'. Cells are Markdown already; bars
// in them are escaped.
void WriteMarkdownTable(const std::vector<std::string>& heads, std::string_view aligns,
                        const std::vector<std::vector<std::string>>& rows, std::ostream& out);

}  // namespace hone::report
