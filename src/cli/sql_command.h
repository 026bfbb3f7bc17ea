// SPDX-License-Identifier: Apache-2.0
// hone sql TRACE... ["select ..."]
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/answer.h"
#include "cli/sql_output.h"
#include "cli/verb.h"
#include "report/report.h"

namespace hone::cli {

class SqlCommand : public Verb {
 public:
  const VerbInfo& info() const override;
  void Declare(CLI::App& app) override;
  int Run(Console& console) override;

 private:
  // The query: the last word, a file, or stdin. Empty: none, and there is a terminal to ask.
  Result<std::string> FindQuery();
  SqlOutputOptions Output(const Console& console, bool interactive) const;

  std::vector<std::string> words_;  // traces, and perhaps a query
  std::string file_;
  bool json_ = false, csv_ = false, markdown_ = false, quiet_ = false;
  std::int64_t rank_ = -1, limit_ = 0;
  AnswerOptions answer_;
};

}  // namespace hone::cli
