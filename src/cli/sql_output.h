// SPDX-License-Identifier: Apache-2.0
// The rows of a query, as a table for people, JSON, CSV or Markdown.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "export/sql_database.h"
#include "report/words/style.h"

namespace hone::cli {

enum class SqlMode : std::uint8_t { kTable, kJson, kCsv, kMarkdown };
inline constexpr std::string_view kSqlModes[] = {"table", "json", "csv", "markdown"};

struct SqlOutputOptions {
  SqlMode mode = SqlMode::kTable;
  std::size_t limit = 0;  // rows; 0: all
  report::Style style;
  bool interactive = false;  // which words say how to see more
};

// One result. JSON and CSV are written row by row; a table keeps its rows, to find their width.
class SqlOutput {
 public:
  // Longer tables are written in parts with a head each: all rows of a large trace would not fit
  // into memory.
  static constexpr std::uint64_t kMostKept = 10'000;

  static std::unique_ptr<SqlOutput> Make(const SqlOutputOptions& options,
                                         const std::vector<std::string>& columns,
                                         std::ostream& out);
  virtual ~SqlOutput() = default;
  virtual void Add(exporter::SqlStatement& row) = 0;
  // `left_out`: rows beyond the limit.
  virtual void Finish(std::uint64_t left_out) = 0;
};

}  // namespace hone::cli
