// SPDX-License-Identifier: Apache-2.0
// A trace as an SQLite file: the tables, views and columns of sql_schema.h, with indices.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "analyze/facts.h"
#include "base/result.h"
#include "export/sql_database.h"
#include "export/sql_rank.h"
#include "trace/trace.h"

namespace hone::exporter {

// What PRAGMA user_version says; it grows when a table or column goes or changes its meaning.
inline constexpr int kSqliteSchemaVersion = 1;

// Ranks are added one after the other; the rows of one may be gone when the next comes.
class SqliteFile {
 public:
  // `path` must not exist. The error is one sentence without the path.
  static Result<std::unique_ptr<SqliteFile>> Create(const std::string& path);
  ~SqliteFile();

  // Rows are read one by one and kept nowhere. `progress` may be empty.
  Status Add(const trace::Trace& trace, const analyze::Facts& facts,
             const std::function<void(std::uint64_t done, std::uint64_t total)>& progress);
  // Makes the indices and views and ends the transaction. Once, after the last rank.
  Status Finish();

 private:
  SqliteFile() = default;
  Status Execute(const std::string& sql);
  Status AddTable(const SqlTable& table, const SqlRank& rank,
                  const std::function<void()>& after_thousand);
  Error Failed() const;

  sqlite3* handle_ = nullptr;
  SqlRankNumbers numbers_;
  SqlRank::Counts before_{};
};

}  // namespace hone::exporter
