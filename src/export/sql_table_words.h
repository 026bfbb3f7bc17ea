// SPDX-License-Identifier: Apache-2.0
// Short words for the files that list the columns of tables.
#pragma once

#include <utility>
#include <vector>

#include "export/sql_rank.h"
#include "export/sql_schema.h"

namespace hone::exporter {

inline constexpr SqlType kInt = SqlType::kInteger, kReal = SqlType::kReal, kText = SqlType::kText;
inline constexpr SqlLookup kSorted = SqlLookup::kSorted, kIndex = SqlLookup::kIndex,
                           kGroup = SqlLookup::kGroup;

template <SqlTableId kTable>
SqlValue ReadId(const SqlRank& rank, trace::RowId row) {
  return rank.FirstIdOf(kTable) + row;
}

template <SqlTableId kTable>
SqlTable MakeTable(const char* name, const char* what, std::size_t (*size)(const SqlRank&),
                   std::vector<SqlColumn> columns) {
  std::vector<SqlColumn> all = {
      {"id", kInt, "row id, from 1; unique over ranks", ReadId<kTable>, kIndex},
      {"rank", kInt, "rank the row is of, as trace.rank",
       [](const SqlRank& r, trace::RowId) -> SqlValue { return r.rank(); }}};
  all.insert(all.end(), columns.begin(), columns.end());
  return {kTable, name, what, size, std::move(all)};
}

}  // namespace hone::exporter
