// SPDX-License-Identifier: Apache-2.0
// A trace as an SQLite file: the tables, views and columns of sql_schema.h, with indices.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "export/exported.h"
#include "export/sql_database.h"
#include "export/sql_rank.h"

namespace hone::exporter {

// What PRAGMA user_version says; it grows when a table or column goes or changes its meaning.
inline constexpr int kSqliteSchemaVersion = 2;

// Rows are read one by one and kept nowhere. The file is complete once Finish was fine.
class SqliteFile : public Writer {
 public:
  // `path` must not exist. The error is one sentence without the path.
  static Result<std::unique_ptr<SqliteFile>> Create(const std::string& path);
  ~SqliteFile() override;

  Status Add(const Exported& rank) override;
  // Makes the indices and views and ends the transaction.
  Status Finish() override;

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

// SqliteFile::Create, for Format.
Result<std::unique_ptr<Writer>> CreateSqlite(const std::string& path);

}  // namespace hone::exporter
