// SPDX-License-Identifier: Apache-2.0
// The pages that are read without a script, of comparisons, benchmarks and searches: one head, one
// policy and one look.
//
// Classes: faint, good, bad, warn; table.words (the last column is text), tr.sum; scroll around
// what may be wider than the page; bar, key.
#pragma once

#include <ostream>
#include <string_view>

namespace hone::report {

// No script may run and nothing may be loaded, whatever stands in the data. `title` is plain text.
void BeginPage(std::string_view title, std::ostream& out);
void EndPage(std::ostream& out);
// Plain text as a paragraph of that class; "": of none.
void WriteParagraph(std::string_view text, std::string_view css, std::ostream& out);

}  // namespace hone::report
