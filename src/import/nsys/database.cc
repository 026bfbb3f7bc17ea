// SPDX-License-Identifier: Apache-2.0
#include "import/nsys/database.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/lower_case.h"

namespace hone::importer::nsys {
namespace {

struct Finalizer {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Statement = std::unique_ptr<sqlite3_stmt, Finalizer>;

Statement Compile(sqlite3* handle, const std::string& sql) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(handle, sql.data(), static_cast<int>(sql.size()), &statement, nullptr) !=
      SQLITE_OK) {
    sqlite3_finalize(statement);
    return nullptr;
  }
  return Statement(statement);
}

std::string Quoted(std::string_view name) {
  std::string quoted = "\"";
  for (const char c : name) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

std::string_view ColumnText(sqlite3_stmt* statement, int column) {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, column));
  if (text == nullptr) return {};
  return {text, static_cast<std::size_t>(sqlite3_column_bytes(statement, column))};
}

}  // namespace

std::string_view Row::Text(int column) const {
  const std::string_view text = ColumnText(statement_, column);
  database_.text_read_ += text.size();
  return text.substr(0, Database::kLongestText);
}

// The smallest cell of a table takes two bytes in the pointer array and four on the page, and each
// byte of text is read once. A file that yields more has pages that point at each other.
std::uint64_t Database::RowLimit() const { return bytes_ / 4 + 1024; }
std::uint64_t Database::TextLimit() const { return 2 * bytes_ + (std::uint64_t{1} << 16); }

const Database::Table* Database::Find(std::string_view table) const {
  const auto found = tables_.find(LowerCase(table));
  return found == tables_.end() ? nullptr : &found->second;
}

bool Database::HasTablePrefix(std::string_view prefix) const {
  const std::string lower = LowerCase(prefix);
  return std::any_of(tables_.begin(), tables_.end(),
                     [&](const auto& entry) { return entry.first.starts_with(lower); });
}

bool Database::HasColumn(std::string_view table, std::string_view column) const {
  const Table* found = Find(table);
  if (found == nullptr) return false;
  return std::find(found->columns.begin(), found->columns.end(), LowerCase(column)) !=
         found->columns.end();
}

// Real tables only: rootpage is 0 for views and virtual tables, which would run what the file says
// instead of reading what it holds. PRAGMA table_info leaves out computed columns likewise.
bool Database::ReadSchema() {
  std::vector<std::string> names;
  {
    const Statement statement =
        Compile(handle_.get(), "SELECT name FROM sqlite_master WHERE type='table' AND rootpage>0");
    if (statement == nullptr) return false;
    int code = SQLITE_ROW;
    while ((code = sqlite3_step(statement.get())) == SQLITE_ROW) {
      if (names.size() == RowLimit()) return false;
      names.emplace_back(ColumnText(statement.get(), 0));
    }
    if (code != SQLITE_DONE) return false;
  }
  for (std::string& name : names) {
    const Statement statement = Compile(handle_.get(), "PRAGMA table_info(" + Quoted(name) + ")");
    if (statement == nullptr) continue;
    Table table;
    while (sqlite3_step(statement.get()) == SQLITE_ROW) {
      table.columns.push_back(LowerCase(ColumnText(statement.get(), 1)));
    }
    std::string key = LowerCase(name);
    table.name = std::move(name);
    if (!table.columns.empty()) tables_.insert_or_assign(std::move(key), std::move(table));
  }
  return true;
}

void Database::Scan(const char* table, std::initializer_list<const char*> columns,
                    const Visitor& visit) {
  const Table* found = Find(table);
  if (found == nullptr) return;
  std::string sql = "SELECT ";
  for (const char* column : columns) {
    if (sql.back() != ' ') sql += ',';
    sql += HasColumn(table, column) ? Quoted(column) : "NULL";
  }
  // NOT INDEXED: an index that somebody added may be damaged or disagree with its table.
  sql += " FROM " + Quoted(found->name) + " NOT INDEXED";
  const Statement statement = Compile(handle_.get(), sql);
  std::uint64_t rows = 0;
  if (statement == nullptr) return NoteDamage(table, rows);
  const Row row(*this, statement.get());
  int code = SQLITE_ROW;
  while ((code = sqlite3_step(statement.get())) == SQLITE_ROW) {
    if (++rows_read_ > RowLimit() || text_read_ > TextLimit()) {
      code = SQLITE_CORRUPT;
      break;
    }
    ++rows;
    visit(row);
    constexpr std::uint64_t kRowsPerReport = 1 << 14;
    if (progress_ && ++rows_reported_ % kRowsPerReport == 0 && rows_expected_ > 0) {
      const double part = static_cast<double>(std::min(rows_reported_, rows_expected_)) /
                          static_cast<double>(rows_expected_);
      progress_(static_cast<std::uint64_t>(part * static_cast<double>(bytes_)), bytes_);
    }
  }
  if (code != SQLITE_DONE) NoteDamage(table, rows);
}

void Database::NoteDamage(const char* table, std::uint64_t rows) {
  const std::string detail = fmt::format("table {} is damaged after {} rows", table, rows);
  losses_.Add(LossKind::kTruncatedInput, 1, 0, detail);
  if (damage_.empty()) damage_ = detail;
}

void Database::ReportProgress(const std::vector<const char*>& tables, Progress progress) {
  progress_ = std::move(progress);
  if (!progress_) return;
  for (const char* table : tables) {
    const Table* found = Find(table);
    if (found == nullptr) continue;
    // The last rowid instead of count(*), which would read the whole table once more.
    const Statement statement =
        Compile(handle_.get(), "SELECT max(rowid) FROM " + Quoted(found->name));
    if (statement == nullptr || sqlite3_step(statement.get()) != SQLITE_ROW) continue;
    const std::int64_t rows = sqlite3_column_int64(statement.get(), 0);
    rows_expected_ += static_cast<std::uint64_t>(
        std::clamp<std::int64_t>(rows, 0, static_cast<std::int64_t>(RowLimit())));
  }
}

}  // namespace hone::importer::nsys
