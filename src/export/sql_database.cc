// SPDX-License-Identifier: Apache-2.0
#include "export/sql_database.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "export/sql_error.h"

namespace hone::exporter {
namespace {

// Steps of SQLite's machine between two calls of OnProgress: some milliseconds.
constexpr int kStepsPerProgress = 100'000;

// PRAGMAs that tell about the tables and change nothing.
constexpr std::array<std::string_view, 6> kHarmless = {"table_info",      "table_xinfo",
                                                       "table_list",      "function_list",
                                                       "compile_options", "collation_list"};

std::string_view Action(int code) {
  switch (code) {
    case SQLITE_ATTACH: return "ATTACH";
    case SQLITE_DETACH: return "DETACH";
    case SQLITE_INSERT: return "INSERT";
    case SQLITE_UPDATE: return "UPDATE";
    case SQLITE_DELETE: return "DELETE";
    case SQLITE_PRAGMA: return "PRAGMA";
    case SQLITE_TRANSACTION: return "a transaction";
    case SQLITE_SAVEPOINT: return "a savepoint";
    case SQLITE_FUNCTION: return "this function";
    case SQLITE_ANALYZE: return "ANALYZE";
    case SQLITE_REINDEX: return "REINDEX";
    case SQLITE_ALTER_TABLE: return "ALTER";
    case SQLITE_DROP_TABLE:
    case SQLITE_DROP_VIEW:
    case SQLITE_DROP_VTABLE:
    case SQLITE_DROP_INDEX: return "DROP";
    default: return "CREATE";
  }
}

}  // namespace

SqlStatement::SqlStatement(SqlDatabase& database, sqlite3_stmt* statement)
    : database_(&database), statement_(statement) {
  for (int i = 0; i < sqlite3_column_count(statement); ++i) {
    const char* name = sqlite3_column_name(statement, i);
    columns_.emplace_back(name == nullptr ? "" : name);
  }
}

Result<bool> SqlStatement::Step() {
  const int code = sqlite3_step(statement_.get());
  database_->interrupted_ = code == SQLITE_INTERRUPT;
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return database_->MakeError(sqlite3_sql(statement_.get()), 0);
}

SqlValue SqlStatement::Cell(std::size_t column) {
  sqlite3_stmt* statement = statement_.get();
  const int at = static_cast<int>(column);
  switch (sqlite3_column_type(statement, at)) {
    case SQLITE_INTEGER: return std::int64_t{sqlite3_column_int64(statement, at)};
    case SQLITE_FLOAT: return sqlite3_column_double(statement, at);
    case SQLITE_TEXT: {
      const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, at));
      return std::string_view(text, static_cast<std::size_t>(sqlite3_column_bytes(statement, at)));
    }
    case SQLITE_BLOB: {
      const auto* bytes = static_cast<const unsigned char*>(sqlite3_column_blob(statement, at));
      blob_ = "x'";
      for (int i = 0; i < sqlite3_column_bytes(statement, at); ++i) {
        blob_ += fmt::format("{:02X}", bytes[i]);
      }
      blob_ += '\'';
      return std::string_view(blob_);
    }
    default: return {};
  }
}

Result<std::unique_ptr<SqlDatabase>> SqlDatabase::Open(SqlRanks ranks) {
  std::unique_ptr<SqlDatabase> database(new SqlDatabase());
  database->ranks_ = std::move(ranks);
  for (const SqlTable& table : AllSqlTables())
    database->tables_.rows.emplace_back(table, database->ranks_);
  int code =
      sqlite3_open_v2(":memory:", &database->handle_,
                      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
  if (code == SQLITE_OK) code = CreateVirtualTables(database->handle_, database->tables_);
  for (const SqlView& view : AllSqlViews()) {
    if (code != SQLITE_OK) break;
    code = sqlite3_exec(database->handle_, SqlViewText(view).c_str(), nullptr, nullptr, nullptr);
  }
  // Sorting a large result must not write files either.
  if (code == SQLITE_OK) {
    code = sqlite3_exec(database->handle_, "PRAGMA temp_store=MEMORY; PRAGMA query_only=1", nullptr,
                        nullptr, nullptr);
  }
  if (code != SQLITE_OK) {
    return Error(fmt::format("SQLite {} cannot make the tables: {}; please report it",
                             sqlite3_libversion(), sqlite3_errmsg(database->handle_)));
  }
  // SQLite declares these on first use, in words that the authorizer takes for writing.
  sqlite3_exec(database->handle_,
               "SELECT 1 FROM json_each('[]'), json_tree('[]'), pragma_table_info('step'),"
               " pragma_table_xinfo('step'), pragma_table_list, pragma_function_list LIMIT 0",
               nullptr, nullptr, nullptr);
  sqlite3_db_config(database->handle_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_set_authorizer(database->handle_, Authorize, database.get());
  return database;
}

SqlDatabase::~SqlDatabase() { sqlite3_close_v2(handle_); }

int SqlDatabase::Authorize(void* self, int action, const char* first, const char* second,
                           const char* /*database*/, const char* /*trigger*/) {
  if (static_cast<SqlDatabase*>(self)->tables_.declaring) return SQLITE_OK;
  const auto named = [](const char* name, std::string_view word) {
    return name != nullptr && std::string_view(name) == word;
  };
  bool fine = action == SQLITE_SELECT || action == SQLITE_READ || action == SQLITE_RECURSIVE;
  // load_extension is off by default; here it is not even looked up.
  if (action == SQLITE_FUNCTION) fine = !named(second, "load_extension");
  if (action == SQLITE_PRAGMA) {
    fine = std::any_of(kHarmless.begin(), kHarmless.end(),
                       [&](std::string_view word) { return named(first, word); });
  }
  if (fine) return SQLITE_OK;
  static_cast<SqlDatabase*>(self)->denied_ = Action(action);
  return SQLITE_DENY;
}

Error SqlDatabase::MakeError(std::string_view sql, std::size_t start) {
  if (interrupted_) return Error("stopped");
  return Error(
      ExplainSqlError(sql, start, sqlite3_errmsg(handle_), sqlite3_error_offset(handle_), denied_));
}

Result<std::optional<SqlStatement>> SqlDatabase::Prepare(std::string_view sql, std::size_t& at) {
  denied_.clear();
  interrupted_ = false;
  while (at < sql.size()) {
    sqlite3_stmt* statement = nullptr;
    const char* rest = nullptr;
    const int code = sqlite3_prepare_v2(handle_, sql.data() + at, static_cast<int>(sql.size() - at),
                                        &statement, &rest);
    if (code != SQLITE_OK) {
      interrupted_ = code == SQLITE_INTERRUPT;
      return MakeError(sql, at);
    }
    const auto behind = static_cast<std::size_t>(rest - sql.data());
    at = behind > at ? behind : sql.size();
    if (statement != nullptr) return std::optional(SqlStatement(*this, statement));
  }
  return std::optional<SqlStatement>();
}

void SqlDatabase::OnProgress(std::function<void()> progress) {
  progress_ = std::move(progress);
  sqlite3_progress_handler(
      handle_, progress_ ? kStepsPerProgress : 0,
      [](void* self) {
        static_cast<SqlDatabase*>(self)->progress_();
        return 0;
      },
      this);
}

bool SqlIsComplete(const std::string& text) { return sqlite3_complete(text.c_str()) != 0; }

std::int64_t SqlRankNumbers::Next(std::int64_t recorded) {
  const auto is_taken = [&](std::int64_t rank) {
    return std::find(taken_.begin(), taken_.end(), rank) != taken_.end();
  };
  std::int64_t rank = recorded;
  if (rank < 0 || is_taken(rank)) {
    for (rank = 0; is_taken(rank);) ++rank;
  }
  taken_.push_back(rank);
  return rank;
}

}  // namespace hone::exporter
