// SPDX-License-Identifier: Apache-2.0
#include "report/csv/csv_table.h"

#include <fmt/format.h>

#include <cmath>
#include <string>

#include "base/csv_text.h"
#include "base/text.h"

namespace hone::report {
namespace {

std::string CellText(const Cell& cell, Unit unit) {
  if (const auto* text = cell.text()) return CsvText(*text);
  if (const auto* integer = cell.integer()) {
    return ExactDecimal(*integer, unit == Unit::kMillis ? 6 : unit == Unit::kMicros ? 3 : 0);
  }
  if (const auto* number = cell.number()) {
    return std::isfinite(*number) ? fmt::format("{}", *number) : "";
  }
  if (const auto* flag = cell.flag()) return *flag ? "true" : "false";
  return "";
}

}  // namespace

void WriteCsv(const Table& table, std::ostream& out) {
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    out << (i == 0 ? "" : ",") << CsvText(table.columns[i].id);
  }
  out << '\n';
  for (const std::vector<Cell>& row : table.rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      out << (i == 0 ? "" : ",") << CellText(row[i], table.columns[i].unit);
    }
    out << '\n';
  }
}

}  // namespace hone::report
