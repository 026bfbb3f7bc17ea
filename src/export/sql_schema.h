// SPDX-License-Identifier: Apache-2.0
// The one schema: tables and views that `hone sql` answers from and `hone export --to sqlite`
// writes. Names, types and the words about them are here and nowhere else; docs/user/sql.md is
// checked against them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "export/sql_value.h"
#include "trace/trace.h"

namespace hone::exporter {

class SqlRank;

// In the order of AllSqlTables.
enum class SqlTableId : std::uint8_t {
  kTrace,
  kLoss,
  kProcess,
  kThread,
  kDevice,
  kStream,
  kProcessGroup,
  kStep,
  kSlice,
  kOpDetail,
  kDeviceWork,
  kLaunch,
  kIdleGap,
  kSync,
  kEventRecord,
  kCollective,
  kCollectiveRun,
  kMemory,
  kCounter,
  kSample,
  kFrame,
  kPythonTime,
  kInstant,
  kFlow,
  kDeviceAnnotation,
};
inline constexpr std::size_t kSqlTableCount =
    static_cast<std::size_t>(SqlTableId::kDeviceAnnotation) + 1;

// How equality and ranges on a column find their rows without a scan.
enum class SqlLookup : std::uint8_t {
  kNone,
  kSorted,  // rows of a run (one rank; of slices, one thread) stand in this order
  kIndex,   // few rows a value; an index is made when it is asked for the second time
  kGroup,   // the same, many rows a value
};

struct SqlColumn {
  const char* name;
  SqlType type;
  const char* what;  // one clause
  SqlValue (*read)(const SqlRank& rank, trace::RowId row);
  SqlLookup lookup = SqlLookup::kNone;
};

// Every table begins with `id` (the row id, from 1, never repeated over ranks) and `rank`.
struct SqlTable {
  SqlTableId id;
  const char* name;
  const char* what;
  std::size_t (*size)(const SqlRank& rank);
  std::vector<SqlColumn> columns;
  bool by_thread = false;  // sorted by thread first: `ts` rises inside each thread only

  std::size_t FindColumn(std::string_view column) const;  // columns.size(): none
};

struct SqlView {
  const char* name;
  const char* what;
  std::vector<std::pair<const char*, const char*>> columns;  // name, clause
  const char* select;
};

std::span<const SqlTable> AllSqlTables();
std::span<const SqlView> AllSqlViews();
const SqlTable& SqlTableOf(SqlTableId id);
const char* SqlTypeName(SqlType type);

// "id INTEGER, rank INTEGER, …", for CREATE TABLE.
std::string SqlColumnList(const SqlTable& table, bool primary_key);
// CREATE VIEW, with a comment of what it shows.
std::string SqlViewText(const SqlView& view);
// CREATE statements with a comment for each table and column, as `.schema` shows them. `name`:
// one table or view; empty: all. Empty when there is none of that name.
std::string SqlSchemaText(std::string_view name);

// The tables, by what they speak of (sql_tables_*.cc).
void AddTraceTables(std::vector<SqlTable>& tables);
void AddHostTables(std::vector<SqlTable>& tables);
void AddDeviceTables(std::vector<SqlTable>& tables);
void AddSampleTables(std::vector<SqlTable>& tables);

}  // namespace hone::exporter
