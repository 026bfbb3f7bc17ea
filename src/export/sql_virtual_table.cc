// SPDX-License-Identifier: Apache-2.0
#include "export/sql_virtual_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>

namespace hone::exporter {
namespace {

constexpr std::size_t kRankColumn = 1;

struct Table : sqlite3_vtab {
  SqlRows* rows = nullptr;
};

// Walks the spans one after the other, or a list of positions.
struct Cursor : sqlite3_vtab_cursor {
  std::vector<SqlRows::Span> spans;
  std::size_t span = 0;
  bool listed = false;
  std::vector<std::uint32_t> list;
  std::size_t next = 0;
  std::int64_t position = 0;
  const SqlRank* rank = nullptr;
};

SqlRows& RowsOf(sqlite3_vtab* table) { return *static_cast<Table*>(table)->rows; }

int Connect(sqlite3* database, void* all, int count, const char* const* arguments,
            sqlite3_vtab** out, char** /*error*/) {
  const std::string_view name = count > 2 ? arguments[2] : "";
  auto& tables = *static_cast<SqlTables*>(all);
  for (SqlRows& rows : tables.rows) {
    if (name != rows.table().name) continue;
    const std::string declared = "CREATE TABLE x(" + SqlColumnList(rows.table(), false) + ")";
    tables.declaring = true;
    const int code = sqlite3_declare_vtab(database, declared.c_str());
    tables.declaring = false;
    if (code != SQLITE_OK) return code;
    auto* table = new Table();
    table->rows = &rows;
    *out = table;
    return SQLITE_OK;
  }
  return SQLITE_ERROR;
}

int Disconnect(sqlite3_vtab* table) {
  delete static_cast<Table*>(table);
  return SQLITE_OK;
}

// What a constraint can do for us; kNothing: SQLite filters.
enum class Use : char { kNothing = '-', kId = 'i', kSorted = 's', kRun = 'r', kIndex = 'x' };

Use UseOf(const SqlRows& rows, int column, unsigned char op) {
  const bool equal = op == SQLITE_INDEX_CONSTRAINT_EQ;
  const bool range = equal || op == SQLITE_INDEX_CONSTRAINT_GT ||
                     op == SQLITE_INDEX_CONSTRAINT_GE || op == SQLITE_INDEX_CONSTRAINT_LT ||
                     op == SQLITE_INDEX_CONSTRAINT_LE;
  if (column <= 0) return range ? Use::kId : Use::kNothing;
  const SqlColumn& about = rows.table().columns[static_cast<std::size_t>(column)];
  if (about.lookup == SqlLookup::kSorted) return range ? Use::kSorted : Use::kNothing;
  if (!equal) return Use::kNothing;
  if (column == kRankColumn) return Use::kRun;
  if (rows.table().by_thread && std::string_view(about.name) == "thread_id") return Use::kRun;
  return about.lookup == SqlLookup::kNone ? Use::kNothing : Use::kIndex;
}

// Rows of one value of a kGroup column, for the planner alone: steps, threads and names come in
// tens. A guess that is off costs a worse order of a join, no wrong row.
constexpr double kValuesOfGroup = 50, kRowsOfIndex = 4;

double RowsLeft(const SqlRows& rows, Use use, int column, unsigned char op, double left) {
  const bool equal = op == SQLITE_INDEX_CONSTRAINT_EQ;
  switch (use) {
    case Use::kId: return equal ? 1 : left / 3;
    case Use::kSorted: return equal ? std::min(left, kRowsOfIndex) : left / 3;
    case Use::kRun: return left / static_cast<double>(std::max<std::size_t>(rows.runs().size(), 1));
    case Use::kIndex:
      return rows.table().columns[static_cast<std::size_t>(column)].lookup == SqlLookup::kGroup
                 ? left / kValuesOfGroup
                 : std::min(left, kRowsOfIndex);
    case Use::kNothing: break;
  }
  return left;
}

// Every plan gives rows in the order of their ids, and of `ts` where there is one run.
bool InOrder(const SqlRows& rows, const sqlite3_index_info& info) {
  if (info.nOrderBy != 1 || info.aOrderBy[0].desc != 0) return false;
  const int column = info.aOrderBy[0].iColumn;
  if (column <= 0) return true;
  return rows.runs().size() <= 1 &&
         rows.table().columns[static_cast<std::size_t>(column)].lookup == SqlLookup::kSorted;
}

// The plan in words of three: use, operator, column; one for each value that Filter is given.
// SQLite checks every constraint again: Filter may give too many rows, never too few.
int BestIndex(sqlite3_vtab* table, sqlite3_index_info* info) {
  const SqlRows& rows = RowsOf(table);
  std::string plan;
  int used = 0;
  double left = static_cast<double>(std::max<std::int64_t>(rows.size(), 1));
  bool indexed = false, unique = false;
  for (int i = 0; i < info->nConstraint; ++i) {
    const auto& constraint = info->aConstraint[i];
    if (constraint.usable == 0) continue;
    const Use use = UseOf(rows, constraint.iColumn, constraint.op);
    if (use == Use::kNothing || (use == Use::kIndex && indexed)) continue;
    // Our index knows texts byte by byte; COLLATE NOCASE asks for more.
    if (use == Use::kIndex && sqlite3_stricmp(sqlite3_vtab_collation(info, i), "BINARY") != 0) {
      continue;
    }
    indexed = indexed || use == Use::kIndex;
    unique = unique || (use == Use::kId && constraint.op == SQLITE_INDEX_CONSTRAINT_EQ);
    info->aConstraintUsage[i].argvIndex = ++used;
    plan += fmt::format("{} {} {} ", static_cast<char>(use), int{constraint.op},
                        std::max(constraint.iColumn, 0));
    left = RowsLeft(rows, use, constraint.iColumn, constraint.op, left);
  }
  info->estimatedRows = static_cast<sqlite3_int64>(std::max(left, 1.0));
  info->estimatedCost = left + 2;
  if (unique) info->idxFlags |= SQLITE_INDEX_SCAN_UNIQUE;
  info->orderByConsumed = InOrder(rows, *info) ? 1 : 0;
  info->idxStr = sqlite3_mprintf("%s", plan.c_str());
  info->needToFreeIdxStr = 1;
  return info->idxStr == nullptr ? SQLITE_NOMEM : SQLITE_OK;
}

int Open(sqlite3_vtab* /*table*/, sqlite3_vtab_cursor** out) {
  *out = new Cursor();
  return SQLITE_OK;
}

int Close(sqlite3_vtab_cursor* cursor) {
  delete static_cast<Cursor*>(cursor);
  return SQLITE_OK;
}

// [low, high] of integers that a constraint leaves; everything where the value is no number.
struct Bounds {
  std::int64_t low = INT64_MIN, high = INT64_MAX;
  bool none = false;
};

Bounds BoundsOf(int op, sqlite3_value* value) {
  Bounds bounds;
  const int type = sqlite3_value_type(value);
  if (type == SQLITE_NULL) bounds.none = true;  // comparing with NULL is never true
  std::int64_t floor = 0, ceiling = 0;
  if (type == SQLITE_INTEGER) {
    floor = ceiling = sqlite3_value_int64(value);
  } else if (type == SQLITE_FLOAT && std::abs(sqlite3_value_double(value)) < 9e18) {
    floor = static_cast<std::int64_t>(std::floor(sqlite3_value_double(value)));
    ceiling = static_cast<std::int64_t>(std::ceil(sqlite3_value_double(value)));
  } else {
    return bounds;
  }
  if (op != SQLITE_INDEX_CONSTRAINT_LT && op != SQLITE_INDEX_CONSTRAINT_LE) bounds.low = floor;
  if (op != SQLITE_INDEX_CONSTRAINT_GT && op != SQLITE_INDEX_CONSTRAINT_GE) bounds.high = ceiling;
  return bounds;
}

SqlValue ValueOf(sqlite3_value* value) {
  switch (sqlite3_value_type(value)) {
    case SQLITE_INTEGER: return std::int64_t{sqlite3_value_int64(value)};
    case SQLITE_TEXT: {
      const auto* text = reinterpret_cast<const char*>(sqlite3_value_text(value));
      return std::string_view(text, static_cast<std::size_t>(sqlite3_value_bytes(value)));
    }
    default: return {};
  }
}

void Narrow(const SqlRows& rows, Use use, std::size_t column, const Bounds& bounds,
            SqlRows::Span& span) {
  if (bounds.none) {
    span.end = span.begin;
  } else if (use == Use::kId) {
    if (bounds.low > span.begin) span.begin = std::min(bounds.low - 1, span.end);
    if (bounds.high < span.end) span.end = std::max(bounds.high, span.begin);
  } else if (use == Use::kSorted) {
    const std::int64_t begin = rows.LowerBound(span, column, bounds.low);
    if (bounds.high != INT64_MAX) span.end = rows.LowerBound(span, column, bounds.high + 1);
    span.begin = std::min(begin, span.end);
  } else if (use == Use::kRun) {
    const std::int64_t key = column == kRankColumn ? span.rank->rank() : span.thread;
    if (key < bounds.low || key > bounds.high) span.end = span.begin;
  }
}

// Moves to the first row at or after the current place.
void Settle(Cursor& cursor) {
  if (cursor.listed) {
    if (cursor.next >= cursor.list.size()) return;
    cursor.position = cursor.list[cursor.next];
    cursor.rank = &RowsOf(cursor.pVtab).RankAt(cursor.position);
    return;
  }
  while (cursor.span < cursor.spans.size() && cursor.position >= cursor.spans[cursor.span].end) {
    if (++cursor.span < cursor.spans.size()) cursor.position = cursor.spans[cursor.span].begin;
  }
  if (cursor.span < cursor.spans.size()) cursor.rank = cursor.spans[cursor.span].rank;
}

// An index pays only where it replaces more rows than a look-up costs.
constexpr std::int64_t kWorthAnIndex = 64;

int Filter(sqlite3_vtab_cursor* base, int /*number*/, const char* plan, int count,
           sqlite3_value** values) {
  Cursor& cursor = *static_cast<Cursor*>(base);
  SqlRows& rows = RowsOf(cursor.pVtab);
  cursor.spans.assign(rows.runs().begin(), rows.runs().end());
  cursor.listed = false;
  cursor.span = cursor.next = 0;
  int index_value = -1;
  std::size_t index_column = 0;
  char* at = const_cast<char*>(plan);
  for (int i = 0; i < count; ++i) {
    const auto use = static_cast<Use>(*at);
    const int op = static_cast<int>(std::strtol(at + 2, &at, 10));
    const auto column = static_cast<std::size_t>(std::strtol(at + 1, &at, 10));
    ++at;
    if (use == Use::kIndex) {
      index_value = i;
      index_column = column;
      continue;
    }
    const Bounds bounds = BoundsOf(op, values[i]);
    for (SqlRows::Span& span : cursor.spans) Narrow(rows, use, column, bounds, span);
    std::erase_if(cursor.spans, [](const SqlRows::Span& span) { return span.begin >= span.end; });
  }
  std::int64_t left = 0;
  for (const SqlRows::Span& span : cursor.spans) left += span.end - span.begin;
  const SqlValue value = index_value < 0 ? SqlValue() : ValueOf(values[index_value]);
  const bool exact = value.kind() == (rows.table().columns[index_column].type == SqlType::kText
                                          ? SqlValue::Kind::kText
                                          : SqlValue::Kind::kInteger);
  if (index_value >= 0 && exact && left > kWorthAnIndex) {
    if (const SqlIndex* index = rows.IndexFor(index_column)) {
      cursor.list = index->Find(value);
      cursor.listed = true;
    }
  }
  if (!cursor.listed && !cursor.spans.empty()) cursor.position = cursor.spans[0].begin;
  Settle(cursor);
  return SQLITE_OK;
}

int Next(sqlite3_vtab_cursor* base) {
  Cursor& cursor = *static_cast<Cursor*>(base);
  cursor.listed ? static_cast<void>(++cursor.next) : static_cast<void>(++cursor.position);
  Settle(cursor);
  return SQLITE_OK;
}

int Eof(sqlite3_vtab_cursor* base) {
  const Cursor& cursor = *static_cast<Cursor*>(base);
  return (cursor.listed ? cursor.next >= cursor.list.size() : cursor.span >= cursor.spans.size())
             ? 1
             : 0;
}

int ReadColumn(sqlite3_vtab_cursor* base, sqlite3_context* out, int column) {
  const Cursor& cursor = *static_cast<Cursor*>(base);
  const SqlRows& rows = RowsOf(cursor.pVtab);
  const SqlValue value = rows.Read(*cursor.rank, cursor.position, static_cast<std::size_t>(column));
  switch (value.kind()) {
    case SqlValue::Kind::kNull: sqlite3_result_null(out); break;
    case SqlValue::Kind::kInteger: sqlite3_result_int64(out, value.integer()); break;
    case SqlValue::Kind::kReal: sqlite3_result_double(out, value.real()); break;
    case SqlValue::Kind::kText:
      sqlite3_result_text64(out, value.text().data(), value.text().size(), SQLITE_STATIC,
                            SQLITE_UTF8);
      break;
  }
  return SQLITE_OK;
}

int ReadRowId(sqlite3_vtab_cursor* base, sqlite3_int64* id) {
  *id = static_cast<Cursor*>(base)->position + 1;
  return SQLITE_OK;
}

sqlite3_module MakeModule() {
  sqlite3_module module = {};
  module.xCreate = Connect;
  module.xConnect = Connect;
  module.xBestIndex = BestIndex;
  module.xDisconnect = Disconnect;
  module.xDestroy = Disconnect;
  module.xOpen = Open;
  module.xClose = Close;
  module.xFilter = Filter;
  module.xNext = Next;
  module.xEof = Eof;
  module.xColumn = ReadColumn;
  module.xRowid = ReadRowId;
  return module;
}

}  // namespace

int CreateVirtualTables(sqlite3* database, SqlTables& tables) {
  static const sqlite3_module kModule = MakeModule();
  int code = sqlite3_create_module(database, "hone_rows", &kModule, &tables);
  for (const SqlRows& rows : tables.rows) {
    if (code != SQLITE_OK) break;
    const std::string sql =
        fmt::format("CREATE VIRTUAL TABLE {} USING hone_rows", rows.table().name);
    code = sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr);
  }
  return code;
}

}  // namespace hone::exporter
