// SPDX-License-Identifier: Apache-2.0
// SqlRows: one table of the schema over all ranks, and how rows of it are found without a scan.
// Rows are numbered by position from 0 over all ranks; a row's id is its position + 1.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "export/sql_rank.h"
#include "export/sql_schema.h"

namespace hone::exporter {

using SqlRanks = std::vector<std::unique_ptr<SqlRank>>;

// Rows by the value of one column. NULL is not in it.
class SqlIndex {
 public:
  void Add(const SqlValue& value, std::uint32_t row);
  void Finish();
  // Positions in rising order.
  std::vector<std::uint32_t> Find(const SqlValue& value) const;

 private:
  std::vector<std::pair<std::int64_t, std::uint32_t>> integers_;  // sorted
  std::unordered_map<std::string_view, std::vector<std::uint32_t>> texts_;
};

class SqlRows {
 public:
  // [begin, end) of positions, all of one rank.
  struct Span {
    std::int64_t begin = 0, end = 0;
    const SqlRank* rank = nullptr;
    std::int64_t thread = 0;  // id; 0: rows of any
  };

  SqlRows(const SqlTable& table, const SqlRanks& ranks);  // ranks outlive it

  const SqlTable& table() const { return table_; }
  std::int64_t size() const { return size_; }
  // The column of lookup kSorted rises in each.
  std::span<const Span> runs() const { return runs_; }

  SqlValue Read(const SqlRank& rank, std::int64_t position, std::size_t column) const {
    const std::int64_t first = rank.FirstIdOf(table_.id) - 1;
    return table_.columns[column].read(rank, static_cast<trace::RowId>(position - first));
  }
  const SqlRank& RankAt(std::int64_t position) const;

  // The first position in the run whose value of `column` is at least `value`. O(log n).
  std::int64_t LowerBound(const Span& run, std::size_t column, std::int64_t value) const;

  // Null the first time a column is asked for: a single question is answered as fast by a scan.
  const SqlIndex* IndexFor(std::size_t column);

 private:
  const SqlTable& table_;
  const SqlRanks& ranks_;
  std::int64_t size_ = 0;
  std::vector<Span> runs_;
  std::vector<bool> asked_;                         // by column
  std::vector<std::unique_ptr<SqlIndex>> indices_;  // by column
};

}  // namespace hone::exporter
