// SPDX-License-Identifier: Apache-2.0
// A picture of a benchmark: every run of every arm, and every pair's ratio with the interval.
#pragma once

#include <ostream>
#include <string>

#include "bench/result.h"

namespace hone::report {

// A whole SVG document; text only, no script, readable on light and dark pages.
void WriteBenchSvg(const bench::Benchmark& benchmark, std::ostream& out);
// The verdict, the picture and the table on one page that needs nothing else.
void WriteBenchHtml(const bench::Benchmark& benchmark, std::ostream& out);
void WriteBenchMarkdown(const bench::Benchmark& benchmark, std::ostream& out);

// &, <, > and quotes; control characters become blanks.
std::string XmlText(std::string_view text);

}  // namespace hone::report
