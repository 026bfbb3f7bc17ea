// SPDX-License-Identifier: Apache-2.0
#include "export/sqlite_export.h"

#include <fmt/format.h>

#include <cstring>
#include <filesystem>

namespace hone::exporter {
namespace {

struct Finalizer {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Statement = std::unique_ptr<sqlite3_stmt, Finalizer>;

int Bind(sqlite3_stmt* statement, int at, const SqlValue& value) {
  switch (value.kind()) {
    case SqlValue::Kind::kNull: return sqlite3_bind_null(statement, at);
    case SqlValue::Kind::kInteger: return sqlite3_bind_int64(statement, at, value.integer());
    case SqlValue::Kind::kReal: return sqlite3_bind_double(statement, at, value.real());
    case SqlValue::Kind::kText: break;
  }
  // The trace outlives the statement.
  return sqlite3_bind_text64(statement, at, value.text().data(), value.text().size(), SQLITE_STATIC,
                             SQLITE_UTF8);
}

}  // namespace

Error SqliteFile::Failed() const {
  const int system = sqlite3_system_errno(handle_);
  return Error(fmt::format("cannot be written: {}{}; name another place with -o",
                           sqlite3_errmsg(handle_),
                           system == 0 ? "" : fmt::format(" ({})", std::strerror(system))));
}

Status SqliteFile::Execute(const std::string& sql) {
  if (sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) return Failed();
  return Ok();
}

Result<std::unique_ptr<SqliteFile>> SqliteFile::Create(const std::string& path) {
  std::unique_ptr<SqliteFile> file(new SqliteFile());
  std::error_code error;
  if (std::filesystem::exists(path, error)) return Error("is there already; remove it first");
  if (sqlite3_open_v2(path.c_str(), &file->handle_,
                      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                      nullptr) != SQLITE_OK) {
    return file->Failed();
  }
  // A file that is not complete is thrown away by the caller: nothing to journal, nothing to sync.
  HONE_RETURN_IF_ERROR(file->Execute(
      fmt::format("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE;"
                  "PRAGMA encoding='UTF-8'; PRAGMA user_version={}; BEGIN",
                  kSqliteSchemaVersion)));
  for (const SqlTable& table : AllSqlTables()) {
    HONE_RETURN_IF_ERROR(
        file->Execute(fmt::format("CREATE TABLE {}({})", table.name, SqlColumnList(table, true))));
  }
  return file;
}

SqliteFile::~SqliteFile() { sqlite3_close_v2(handle_); }

Status SqliteFile::AddTable(const SqlTable& table, const SqlRank& rank,
                            const std::function<void()>& after_thousand) {
  std::string sql = fmt::format("INSERT INTO {} VALUES(?", table.name);
  for (std::size_t i = 1; i < table.columns.size(); ++i) sql += ",?";
  sqlite3_stmt* made = nullptr;
  if (sqlite3_prepare_v2(handle_, (sql + ")").c_str(), -1, &made, nullptr) != SQLITE_OK) {
    return Failed();
  }
  const Statement statement(made);
  const std::size_t rows = rank.RowsOf(table.id);
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      const SqlValue value = table.columns[i].read(rank, static_cast<trace::RowId>(row));
      if (Bind(made, static_cast<int>(i + 1), value) != SQLITE_OK) return Failed();
    }
    if (sqlite3_step(made) != SQLITE_DONE) return Failed();
    sqlite3_reset(made);
    if (row % 1000 == 999) after_thousand();
  }
  return Ok();
}

Status SqliteFile::Add(const Exported& exported) {
  const SqlRank rank(exported.trace, exported.facts, numbers_.Next(exported.trace.info.rank),
                     before_);
  std::uint64_t done = 0, total = 0;
  for (const SqlTable& table : AllSqlTables()) total += rank.RowsOf(table.id);
  for (const SqlTable& table : AllSqlTables()) {
    HONE_RETURN_IF_ERROR(AddTable(table, rank, [&] {
      done += 1000;
      if (exported.progress) exported.progress(done, total);
    }));
  }
  before_ = rank.Behind();
  return Ok();
}

Status SqliteFile::Finish() {
  for (const SqlTable& table : AllSqlTables()) {
    for (const SqlColumn& column : table.columns) {
      if (column.lookup == SqlLookup::kNone || &column == &table.columns.front()) continue;
      // Of 72 MB for 320,000 events, indices of names took 17 and made no question faster.
      if (column.type == SqlType::kText) continue;
      // Links that few rows have take no room for the others.
      HONE_RETURN_IF_ERROR(Execute(fmt::format(
          "CREATE INDEX {0}_{1} ON {0}({1}) WHERE {1} IS NOT NULL", table.name, column.name)));
    }
  }
  for (const SqlView& view : AllSqlViews()) HONE_RETURN_IF_ERROR(Execute(SqlViewText(view)));
  return Execute("COMMIT");
}

Result<std::unique_ptr<Writer>> CreateSqlite(const std::string& path) {
  auto file = SqliteFile::Create(path);
  if (!file) return std::move(file).error();
  return std::unique_ptr<Writer>(std::move(*file));
}

}  // namespace hone::exporter
