// SPDX-License-Identifier: Apache-2.0
#include "export/sql_rows.h"

#include <algorithm>

namespace hone::exporter {

void SqlIndex::Add(const SqlValue& value, std::uint32_t row) {
  if (value.kind() == SqlValue::Kind::kInteger) integers_.emplace_back(value.integer(), row);
  if (value.kind() == SqlValue::Kind::kText) texts_[value.text()].push_back(row);
}

void SqlIndex::Finish() {
  if (!std::is_sorted(integers_.begin(), integers_.end())) {
    std::sort(integers_.begin(), integers_.end());
  }
}

std::vector<std::uint32_t> SqlIndex::Find(const SqlValue& value) const {
  std::vector<std::uint32_t> rows;
  if (value.kind() == SqlValue::Kind::kText) {
    const auto found = texts_.find(value.text());
    if (found != texts_.end()) rows = found->second;
  } else if (value.kind() == SqlValue::Kind::kInteger) {
    const auto first = std::lower_bound(integers_.begin(), integers_.end(),
                                        std::pair(value.integer(), std::uint32_t{0}));
    for (auto at = first; at != integers_.end() && at->first == value.integer(); ++at) {
      rows.push_back(at->second);
    }
  }
  return rows;
}

SqlRows::SqlRows(const SqlTable& table, const SqlRanks& ranks)
    : table_(table),
      ranks_(ranks),
      asked_(table.columns.size(), false),
      indices_(table.columns.size()) {
  for (const std::unique_ptr<SqlRank>& rank : ranks) {
    const std::int64_t first = rank->FirstIdOf(table.id) - 1;
    const auto rows = static_cast<std::int64_t>(rank->RowsOf(table.id));
    size_ += rows;
    if (!table.by_thread) {
      if (rows > 0) runs_.push_back({first, first + rows, rank.get()});
      continue;
    }
    const auto& threads = rank->trace().threads;
    for (std::size_t t = 0; t < threads.size(); ++t) {
      if (threads[t].first_slice >= threads[t].last_slice) continue;
      runs_.push_back({first + threads[t].first_slice, first + threads[t].last_slice, rank.get(),
                       rank->FirstIdOf(SqlTableId::kThread) + static_cast<std::int64_t>(t)});
    }
    // Threads stand in the order of their first slice as a rule; the ids must rise.
    std::sort(runs_.begin(), runs_.end(),
              [](const Span& a, const Span& b) { return a.begin < b.begin; });
  }
}

const SqlRank& SqlRows::RankAt(std::int64_t position) const {
  const auto after = std::upper_bound(
      ranks_.begin(), ranks_.end(), position,
      [&](std::int64_t p, const auto& rank) { return p < rank->FirstIdOf(table_.id) - 1; });
  return **(after - 1);
}

std::int64_t SqlRows::LowerBound(const Span& run, std::size_t column, std::int64_t value) const {
  std::int64_t begin = run.begin, end = run.end;
  while (begin < end) {
    const std::int64_t middle = begin + (end - begin) / 2;
    if (Read(*run.rank, middle, column).integer() < value) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return begin;
}

const SqlIndex* SqlRows::IndexFor(std::size_t column) {
  if (indices_[column] != nullptr) return indices_[column].get();
  if (!asked_[column] || size_ > UINT32_MAX) {
    asked_[column] = true;
    return nullptr;
  }
  auto index = std::make_unique<SqlIndex>();
  for (const Span& run : runs_) {
    for (std::int64_t position = run.begin; position < run.end; ++position) {
      index->Add(Read(*run.rank, position, column), static_cast<std::uint32_t>(position));
    }
  }
  index->Finish();
  indices_[column] = std::move(index);
  return indices_[column].get();
}

}  // namespace hone::exporter
