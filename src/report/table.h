// SPDX-License-Identifier: Apache-2.0
// Table: rows and named columns, the one form behind `--table`, the lists of the JSON document and
// CSV. A column has one name everywhere.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/known.h"
#include "base/result.h"
#include "base/units.h"

namespace hone::report {

enum class Unit : std::uint8_t {
  kText,      // std::string_view
  kPath,      // std::string_view whose end says most: source lines, stacks
  kCount,     // std::int64_t
  kMillis,    // std::int64_t nanoseconds, shown as ms
  kMicros,    // std::int64_t nanoseconds, shown as us
  kBytes,     // std::int64_t
  kShare,     // double, 0..1
  kNumber,    // double
  kFlag,      // bool
};

struct Column {
  std::string id;     // snake_case with the unit: "host_self_ms"
  Unit unit = Unit::kText;
  // Text drops columns of high rank first when the terminal is narrow; 0 always stays.
  int rank = 0;
};

// monostate: not in this trace. Views point into the Report, or into Table::own.
using Cell = std::variant<std::monostate, std::string_view, std::int64_t, double, bool>;

struct Table {
  std::string name;   // as --table takes it
  std::string title;  // for people, one clause
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;
  std::size_t left_out = 0;      // rows dropped by a limit
  std::deque<std::string> own;   // texts made for this table; never moves

  Table() = default;
  Table(std::string table_name, std::string table_title, std::vector<Column> table_columns)
      : name(std::move(table_name)), title(std::move(table_title)), columns(std::move(table_columns)) {}
  // Views into `own` would dangle in a copy.
  Table(Table&&) = default;
  Table& operator=(Table&&) = default;
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  void Add(std::vector<Cell> cells);  // one cell a column
  std::string_view Keep(std::string text) { return own.emplace_back(std::move(text)); }
};

inline Cell CellOf(const Known<double>& value) { return value ? Cell(*value) : Cell(); }
inline Cell CountCell(std::uint64_t count) { return static_cast<std::int64_t>(count); }
inline Cell TextCell(std::string_view text) { return text.empty() ? Cell() : Cell(text); }
// -1 stands for unknown in many columns of a trace.
inline Cell KnownCount(std::int64_t count) { return count < 0 ? Cell() : Cell(count); }

struct TableShape {
  std::string sort;                  // column, or empty: the table's own order
  bool reverse = false;
  std::optional<std::size_t> limit = std::nullopt;  // rows kept; unset: all
};

// Index of the column a person means: its name, its name without the unit, or its words in another
// order ("self_device" finds device_self_ms). The error lists the columns.
Result<std::size_t> FindColumn(const Table& table, std::string_view word);

// Numbers sort largest first, texts A to Z; `reverse`, or a "-" before the column, turns it round.
// Unknown cells come last either way.
Status Shape(Table& table, const TableShape& shape);

}  // namespace hone::report
