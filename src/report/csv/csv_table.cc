// SPDX-License-Identifier: Apache-2.0
#include "report/csv/csv_table.h"

#include <fmt/format.h>

#include <cmath>
#include <string>

#include "base/text.h"
#include "base/utf8.h"

namespace hone::report {
namespace {

std::string Cleaned(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Char c = DecodeUtf8(text, at);
    const bool control = (c.code < 0x20 && c.code != '\t' && c.code != '\n' && c.code != '\r') ||
                         (c.code >= 0x7F && c.code < 0xA0);
    AppendUtf8(control ? kReplacementCharacter : c.code, out);
    at += c.size;
  }
  return out;
}

}  // namespace

std::string CsvText(std::string_view text) {
  const std::string clean = Cleaned(text);
  const bool plain = clean.find_first_of(",\"\r\n") == std::string::npos &&
                     (clean.empty() || (clean.front() != ' ' && clean.back() != ' '));
  if (plain) return clean;
  std::string out = "\"";
  for (const char c : clean) {
    if (c == '"') out.push_back('"');
    out.push_back(c);
  }
  out.push_back('"');
  return out;
}

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
