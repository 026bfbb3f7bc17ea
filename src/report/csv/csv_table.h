// SPDX-License-Identifier: Apache-2.0
// A table as CSV: RFC 4180 quoting, a header row, lines end in "\n".
#pragma once

#include <ostream>

#include "report/table.h"

namespace hone::report {

// Times are exact decimals; unknown cells are empty.
void WriteCsv(const Table& table, std::ostream& out);

}  // namespace hone::report
