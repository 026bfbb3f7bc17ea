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
#include <vector>

#include "base/known.h"
#include "base/result.h"
#include "base/units.h"

namespace hone::report {

enum class Unit : std::uint8_t {
  kText,    // std::string_view
  kKernel,  // std::string_view: a kernel's name, shortened in text
  kPath,    // std::string_view whose end says most: source lines, stacks
  kCount,   // std::int64_t
  kMillis,  // std::int64_t nanoseconds, shown as ms
  kMicros,  // std::int64_t nanoseconds, shown as us
  kBytes,   // std::int64_t
  kShare,   // double, 0..1
  kNumber,  // double
  kTimes,   // double: a speed-up, "1.9x" in text
  kFlag,    // bool
};

inline constexpr int kDataOnly = 100;

struct Column {
  std::string id;  // snake_case with the unit: "host_self_ms"
  Unit unit = Unit::kText;
  // Text drops columns of high rank first when the terminal is narrow; 0 always stays, kDataOnly
  // is for CSV and JSON.
  int rank = 0;
};

// One value, or "not in this trace". Texts point into the Report, or into Table::own. Not a
// std::variant: GCC 12 warns falsely about vectors of them under -O2.
class Cell {
 public:
  Cell() : integer_(0) {}
  Cell(std::string_view text) : kind_(Kind::kText), text_(text) {}          // NOLINT: reads as
  Cell(std::int64_t integer) : kind_(Kind::kInteger), integer_(integer) {}  // NOLINT: the value
  Cell(double number) : kind_(Kind::kNumber), number_(number) {}            // NOLINT
  Cell(bool flag) : kind_(Kind::kFlag), flag_(flag) {}                      // NOLINT
  Cell(const char* text) : Cell(std::string_view(text)) {}                  // NOLINT

  bool absent() const { return kind_ == Kind::kAbsent; }
  // Null when the cell holds something else.
  const std::string_view* text() const { return kind_ == Kind::kText ? &text_ : nullptr; }
  const std::int64_t* integer() const { return kind_ == Kind::kInteger ? &integer_ : nullptr; }
  const double* number() const { return kind_ == Kind::kNumber ? &number_ : nullptr; }
  const bool* flag() const { return kind_ == Kind::kFlag ? &flag_ : nullptr; }

 private:
  enum class Kind : std::uint8_t { kAbsent, kText, kInteger, kNumber, kFlag };
  Kind kind_ = Kind::kAbsent;
  union {  // NOLINTBEGIN(readability-identifier-naming): private, though clang-tidy says public
    std::string_view text_;
    std::int64_t integer_;
    double number_;
    bool flag_;
  };  // NOLINTEND(readability-identifier-naming)
};

struct Table {
  std::string name;   // as --table takes it
  std::string title;  // for people, one clause
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;
  std::string text_order;       // column that text sorts by when nobody asks; data keep their order
  std::size_t left_out = 0;     // rows dropped by a limit
  std::deque<std::string> own;  // texts made for this table; never moves

  Table() = default;
  Table(std::string table_name, std::string table_title, std::vector<Column> table_columns)
      : name(std::move(table_name)),
        title(std::move(table_title)),
        columns(std::move(table_columns)) {}
  // Views into `own` would dangle in a copy.
  Table(Table&&) = default;
  Table& operator=(Table&&) = default;
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  void Add(std::vector<Cell> cells);  // one cell a column
  void DropColumn(std::size_t column);
  std::string_view Keep(std::string text) { return own.emplace_back(std::move(text)); }
};

inline Cell CellOf(const Known<double>& value) { return value ? Cell(*value) : Cell(); }
inline Cell CountCell(std::uint64_t count) { return static_cast<std::int64_t>(count); }
inline Cell TextCell(std::string_view text) { return text.empty() ? Cell() : Cell(text); }
// -1 stands for unknown in many columns of a trace.
inline Cell KnownCount(std::int64_t count) { return count < 0 ? Cell() : Cell(count); }

struct TableShape {
  std::string sort;  // column, or empty: the table's own order
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
