// SPDX-License-Identifier: Apache-2.0
// SqlSession: runs queries and dot commands against one database and writes their answers.
#pragma once

#include <chrono>
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/console.h"
#include "cli/sql_output.h"
#include "export/sql_database.h"

namespace hone::cli {

class SqlSession {
 public:
  // `progress`: say on console.err when a query takes long.
  SqlSession(exporter::SqlDatabase& database, const SqlOutputOptions& output, Console& console,
             bool progress);

  // Everything in `text`: a dot command, or statements separated by ;. The error is one sentence;
  // what was answered before it is on `out`.
  Status Run(std::string_view text, std::ostream& out);

  bool done() const { return done_; }  // .quit was said
  exporter::SqlDatabase& database() { return database_; }

  static bool IsDotCommand(std::string_view text);
  // ".help", ".schema", …
  static std::vector<std::string> DotCommands();

 private:
  Status RunDot(std::string_view text, std::ostream& out);
  Status RunStatement(exporter::SqlStatement& statement, std::ostream& out);
  void ShowProgress();
  void EraseProgress();

  exporter::SqlDatabase& database_;
  SqlOutputOptions output_;
  Console& console_;
  const bool progress_;
  bool done_ = false;

  using Clock = std::chrono::steady_clock;
  Clock::time_point started_{}, shown_{};
  std::uint64_t rows_ = 0;
  bool visible_ = false;
};

}  // namespace hone::cli
