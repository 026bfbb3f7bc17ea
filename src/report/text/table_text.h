// SPDX-License-Identifier: Apache-2.0
// A table for people: columns that fit the terminal, long names elided in the middle.
#pragma once

#include <ostream>

#include "report/table.h"
#include "report/words/style.h"

namespace hone::report {

struct TableTextOptions {
  std::size_t indent = 2;
  bool fill = false;  // the first column takes what is left of the line
  bool notes = true;  // say which rows and columns are not shown, and how to see them
  bool raw = false;   // names as they are; columns without any value too
  const char* all_rows = "--limit 0 shows all";
  const char* all_columns = "--csv has every column";
};

// No line is wider than style.width. Columns that do not fit are left out, by Column::rank, as are
// columns without any value (unless `raw`).
void WriteTable(const Table& table, const Style& style, const TableTextOptions& options,
                std::ostream& out);

}  // namespace hone::report
