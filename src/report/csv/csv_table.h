// SPDX-License-Identifier: Apache-2.0
// A table as CSV: RFC 4180 quoting, a header row, lines end in "\n".
#pragma once

#include <ostream>
#include <string>
#include <string_view>

#include "report/table.h"

namespace hone::report {

// Times are exact decimals; unknown cells are empty. Control characters other than tab and line
// ends, and bytes that are not UTF-8, become U+FFFD: CSV is also looked at in terminals.
void WriteCsv(const Table& table, std::ostream& out);

// One field: the text, in quotes where it needs them.
std::string CsvText(std::string_view text);

}  // namespace hone::report
