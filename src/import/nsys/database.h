// SPDX-License-Identifier: Apache-2.0
// Database: one SQLite file, opened for reading only and never trusted.
//
// Nsight Systems creates tables lazily and changes columns from version to version, so nothing here
// assumes a schema: callers ask for columns by name and read NULL where the file has none. A
// damaged or hostile file can make SQLite walk in circles; the walk is bounded by the file's size.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/loss.h"
#include "base/result.h"

namespace hone::importer::nsys {

class Database;

// The current row of a scan. Columns are numbered as the caller listed them. SQLite converts on
// the way out, so text where a number belongs reads as that number, or 0.
class Row {
 public:
  bool Has(int column) const { return sqlite3_column_type(statement_, column) != SQLITE_NULL; }
  std::int64_t Int(int column, std::int64_t fallback = 0) const {
    if (fallback != 0 && !Has(column)) return fallback;
    return sqlite3_column_int64(statement_, column);  // 0 for NULL
  }
  // Valid until the next row. At most kLongestText bytes.
  std::string_view Text(int column) const;
  bool IsText(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_TEXT; }

 private:
  friend class Database;
  Row(Database& database, sqlite3_stmt* statement) : database_(database), statement_(statement) {}
  Database& database_;
  sqlite3_stmt* statement_;
};

class Database {
 public:
  using Progress = std::function<void(std::uint64_t done, std::uint64_t total)>;
  using Visitor = std::function<void(const Row&)>;
  static constexpr std::size_t kLongestText = std::size_t{1} << 20;

  // The error is one sentence without the file's name.
  static Result<Database> OpenFile(const std::string& path);
  static Result<Database> OpenImage(std::string_view bytes);

  bool HasTable(std::string_view table) const { return Find(table) != nullptr; }
  bool HasTablePrefix(std::string_view prefix) const;
  bool HasColumn(std::string_view table, std::string_view column) const;

  // Calls `visit` for every row, in one pass. Absent columns read as NULL, an absent table has no
  // rows. Damage ends the scan: the rows before it stand, and it is counted in losses().
  void Scan(const char* table, std::initializer_list<const char*> columns, const Visitor& visit);

  // Progress over the rows of these tables, in bytes of the file.
  void ReportProgress(const std::vector<const char*>& tables, Progress progress);

  std::uint64_t bytes() const { return bytes_; }
  std::uint64_t rows_read() const { return rows_read_; }
  bool damaged() const { return !damage_.empty(); }
  const std::string& damage() const { return damage_; }
  LossLog& losses() { return losses_; }

 private:
  friend class Row;
  struct Table {
    std::string name;                  // as the file spells it
    std::vector<std::string> columns;  // lower case
  };
  struct Closer {
    void operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }
  };
  using Handle = std::unique_ptr<sqlite3, Closer>;

  Database(Handle handle, std::uint64_t bytes) : handle_(std::move(handle)), bytes_(bytes) {}
  static Result<Database> Prepare(Handle handle, std::uint64_t bytes);
  void LimitWork();
  bool ReadSchema();
  void NoteDamage(const char* table, std::uint64_t rows);
  std::uint64_t RowLimit() const;
  std::uint64_t TextLimit() const;
  const Table* Find(std::string_view table) const;

  std::unique_ptr<std::uint64_t>
      work_left_;  // ticks; SQLite counts it down, so it outlives handle_
  Handle handle_;
  std::uint64_t bytes_ = 0;
  std::unordered_map<std::string, Table> tables_;  // by lower-case name
  std::uint64_t rows_read_ = 0, text_read_ = 0;
  std::uint64_t rows_reported_ = 0, rows_expected_ = 0;
  Progress progress_;
  std::string damage_;  // the first: "CUPTI_… after 12 rows: database disk image is malformed"
  LossLog losses_;
};

// What the first bytes say when they are not those of a readable SQLite file, else empty.
std::string DescribeHeader(std::string_view first_bytes);

// The next step in most errors.
inline constexpr const char* kExportAgain =
    "export it again with nsys export --type sqlite REPORT.nsys-rep";

}  // namespace hone::importer::nsys
