// SPDX-License-Identifier: Apache-2.0
#include "report/table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/check.h"
#include "base/text.h"

namespace hone::report {
namespace {

std::vector<std::string> Words(std::string_view id) {
  std::vector<std::string> words(1);
  for (const char c : id) {
    if (c == '_' || c == '-' || c == ' ') {
      words.emplace_back();
    } else {
      words.back().push_back(c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c);
    }
  }
  // "cpu" and "cuda" are what PyTorch's own table calls them.
  for (std::string& word : words) {
    if (word == "cpu") word = "host";
    if (word == "cuda" || word == "gpu") word = "device";
  }
  return words;
}

std::vector<std::string> WithoutUnit(std::vector<std::string> words) {
  static constexpr std::string_view kUnits[] = {"ms", "us", "bytes", "pct"};
  if (words.size() > 1 &&
      std::find(std::begin(kUnits), std::end(kUnits), words.back()) != std::end(kUnits)) {
    words.pop_back();
  }
  return words;
}

std::vector<std::string> Sorted(std::vector<std::string> words) {
  std::sort(words.begin(), words.end());
  return words;
}

double Number(const Cell& cell) {
  if (const auto* integer = cell.integer()) return static_cast<double>(*integer);
  if (const auto* number = cell.number()) return *number;
  if (const auto* flag = cell.flag()) return *flag ? 1 : 0;
  return 0;
}

// Less in the order shown: texts A to Z, numbers largest first.
bool Before(const Cell& a, const Cell& b) {
  const auto* text_a = a.text();
  const auto* text_b = b.text();
  if (text_a != nullptr && text_b != nullptr) return *text_a < *text_b;
  const auto* integer_a = a.integer();
  const auto* integer_b = b.integer();
  if (integer_a != nullptr && integer_b != nullptr) return *integer_a > *integer_b;
  return Number(a) > Number(b);
}

bool IsAbsent(const Cell& cell) {
  // NaN compares with nothing; as "unknown" it keeps the order strict.
  const auto* number = cell.number();
  return cell.absent() || (number != nullptr && *number != *number);
}

}  // namespace

void Table::Add(std::vector<Cell> cells) {
  HONE_CHECK(cells.size() == columns.size());
  rows.push_back(std::move(cells));
}

void Table::DropColumn(std::size_t column) {
  const auto at = static_cast<std::ptrdiff_t>(column);
  columns.erase(columns.begin() + at);
  for (std::vector<Cell>& row : rows) row.erase(row.begin() + at);
}

Result<std::size_t> FindColumn(const Table& table, std::string_view word) {
  const std::vector<std::string> asked = Sorted(Words(word));
  for (const bool drop_unit : {false, true}) {
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      const std::vector<std::string> words = Words(table.columns[i].id);
      if (Sorted(drop_unit ? WithoutUnit(words) : words) == asked) return i;
    }
  }
  std::vector<std::string> names;
  for (const Column& column : table.columns) names.push_back(column.id);
  const std::optional<std::string> nearest = NearestSpelling(word, names);
  return Error(fmt::format("table {} has no column {}{}; its columns: {}", table.name, word,
                           nearest ? ", did you mean " + *nearest + "?" : "",
                           fmt::join(names, ", ")));
}

Status Shape(Table& table, const TableShape& shape) {
  if (!shape.sort.empty()) {
    const bool minus = shape.sort[0] == '-';
    Result<std::size_t> column = FindColumn(table, std::string_view(shape.sort).substr(minus));
    if (!column) return std::move(column).error();
    const bool turned = minus != shape.reverse;
    std::stable_sort(table.rows.begin(), table.rows.end(), [&](const auto& a, const auto& b) {
      const Cell &left = a[*column], &right = b[*column];
      if (IsAbsent(left) || IsAbsent(right)) return !IsAbsent(left) && IsAbsent(right);
      return turned ? Before(right, left) : Before(left, right);
    });
  } else if (shape.reverse) {
    std::reverse(table.rows.begin(), table.rows.end());
  }
  if (shape.limit && table.rows.size() > *shape.limit) {
    table.left_out = table.rows.size() - *shape.limit;
    table.rows.resize(*shape.limit);
  }
  return Ok();
}

}  // namespace hone::report
