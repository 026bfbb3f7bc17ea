// SPDX-License-Identifier: Apache-2.0
// Short words for asking small traces in SQL.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "analyze/facts.h"
#include "analyze/fixture_test.h"
#include "export/sql_database.h"

namespace hone::exporter {

// Traces and the database over them. Add all, then ask.
class Asked {
 public:
  void Add(trace::Trace trace) {
    traces_.push_back(std::make_unique<trace::Trace>(std::move(trace)));
    facts_.push_back(std::make_unique<analyze::Facts>(analyze::Analyze(*traces_.back())));
  }

  const analyze::Facts& facts(std::size_t rank) const { return *facts_[rank]; }
  const trace::Trace& trace(std::size_t rank) const { return *traces_[rank]; }

  // Rows as "a|b|NULL"; an error as its sentence.
  std::vector<std::string> operator()(std::string_view sql) {
    if (database_ == nullptr) Open();
    std::vector<std::string> rows;
    std::size_t at = 0;
    while (true) {
      auto statement = database_->Prepare(sql, at);
      if (!statement) return {statement.error().message()};
      if (!statement->has_value()) return rows;
      while (true) {
        const Result<bool> row = (**statement).Step();
        if (!row) return {row.error().message()};
        if (!*row) break;
        std::string text;
        for (std::size_t i = 0; i < (**statement).columns().size(); ++i) {
          text += (i == 0 ? "" : "|") + Text((**statement).Cell(i));
        }
        rows.push_back(std::move(text));
      }
    }
  }

  SqlDatabase& database() {
    if (database_ == nullptr) Open();
    return *database_;
  }

 private:
  void Open() {
    SqlRanks ranks;
    SqlRankNumbers numbers;
    SqlRank::Counts before{};
    for (std::size_t i = 0; i < traces_.size(); ++i) {
      ranks.push_back(std::make_unique<SqlRank>(*traces_[i], *facts_[i],
                                                numbers.Next(traces_[i]->info.rank), before));
      before = ranks.back()->Behind();
    }
    auto opened = SqlDatabase::Open(std::move(ranks));
    ASSERT_TRUE(opened.has_value()) << opened.error().message();
    database_ = std::move(*opened);
  }

  static std::string Text(const SqlValue& value) {
    switch (value.kind()) {
      case SqlValue::Kind::kNull: return "NULL";
      case SqlValue::Kind::kInteger: return fmt::format("{}", value.integer());
      case SqlValue::Kind::kReal: return fmt::format("{}", value.real());
      case SqlValue::Kind::kText: break;
    }
    return std::string(value.text());
  }

  std::vector<std::unique_ptr<trace::Trace>> traces_;
  std::vector<std::unique_ptr<analyze::Facts>> facts_;
  std::unique_ptr<SqlDatabase> database_;
};

using Rows = std::vector<std::string>;

}  // namespace hone::exporter
