// SPDX-License-Identifier: Apache-2.0
// The answer as text: where the time goes, what to do about it, and as much of the rest as one
// screen holds; everything on request.
#pragma once

#include <ostream>

#include "report/report.h"
#include "report/table.h"
#include "report/words/style.h"

namespace hone::report {

inline constexpr std::size_t kLeastWidth = 60;  // narrower terminals have to wrap

struct TextOptions {
  Style style;
  bool all = false;            // every section, not only the first screen
  std::size_t all_limit = 20;  // rows of each table then; 0: all
};

// No line is wider than options.style.width (at least kLeastWidth), whatever names the trace holds.
void WriteText(const Report& report, const TextOptions& options, std::ostream& out);

// One table with its title. Absent tables become the sentence that says why.
void WriteTextTable(const Known<Table>& table, std::string_view name, const Style& style,
                    std::ostream& out);

}  // namespace hone::report
