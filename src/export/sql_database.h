// SPDX-License-Identifier: Apache-2.0
// SqlDatabase: traces as a read-only SQL database in memory. Nothing is written, attached or
// loaded, whatever a query says.
#pragma once

#include <sqlite3.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "export/sql_rows.h"
#include "export/sql_virtual_table.h"

namespace hone::exporter {

// One statement while it runs.
class SqlStatement {
 public:
  const std::vector<std::string>& columns() const { return columns_; }
  // False behind the last row. The error is one sentence.
  Result<bool> Step();
  // Of the current row; texts are valid until the next Step. Blobs read as x'0A1B'.
  SqlValue Cell(std::size_t column);

 private:
  friend class SqlDatabase;
  struct Finalizer {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  SqlStatement(class SqlDatabase& database, sqlite3_stmt* statement);

  SqlDatabase* database_;
  std::unique_ptr<sqlite3_stmt, Finalizer> statement_;
  std::vector<std::string> columns_;
  std::string blob_;
};

class SqlDatabase {
 public:
  // Each rank outlives nothing: the database owns it; traces and facts behind it must stay.
  static Result<std::unique_ptr<SqlDatabase>> Open(SqlRanks ranks);
  ~SqlDatabase();

  // The first statement of `sql` from `at` on, and moves `at` behind it; nullopt when only blanks
  // and comments are left. The error is one sentence with the place in `sql` and the nearest
  // spelling.
  Result<std::optional<SqlStatement>> Prepare(std::string_view sql, std::size_t& at);

  // Ends the statement that runs, with an error. May be called from a signal handler or thread.
  void Interrupt() { sqlite3_interrupt(handle_); }
  bool interrupted() const { return interrupted_; }  // by the last Step or Prepare
  // Called every now and then (some 100,000 steps of SQLite's machine) while a statement runs.
  void OnProgress(std::function<void()> progress);

 private:
  friend class SqlStatement;
  SqlDatabase() = default;
  static int Authorize(void* self, int action, const char* first, const char* second,
                       const char* /*database*/, const char* /*trigger*/);
  Error MakeError(std::string_view sql, std::size_t start);

  SqlRanks ranks_;
  SqlTables tables_;
  sqlite3* handle_ = nullptr;
  std::string denied_;  // what the authorizer refused last
  bool interrupted_ = false;
  std::function<void()> progress_;
};

// Whether the text ends with the ; of a statement, not inside a string or comment.
bool SqlIsComplete(const std::string& text);

// Ranks for a database: as recorded where a trace says so and no earlier one said the same, else
// the lowest number that is free.
class SqlRankNumbers {
 public:
  std::int64_t Next(std::int64_t recorded);

 private:
  std::vector<std::int64_t> taken_;
};

}  // namespace hone::exporter
