// SPDX-License-Identifier: Apache-2.0
// hone whatif TRACE... --fix a,b | --list
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/known.h"
#include "base/result.h"
#include "cli/answer.h"
#include "cli/job.h"
#include "cli/verb.h"
#include "report/whatif_answer.h"

namespace hone::cli {

class WhatIfCommand : public Verb {
 public:
  const VerbInfo& info() const override;
  void Declare(CLI::App& app) override;
  int Run(Console& console) override;

 private:
  Status Check() const;
  Known<report::WhatIfAnswer> Ask(const report::Report& report) const;

  std::vector<std::string> paths_;
  std::vector<std::string> fixes_;  // words of replay::AllEdits(), or "all"
  bool list_ = false, json_ = false, markdown_ = false, stable_ = false, quiet_ = false;
  std::int64_t rank_ = -1;
  AnswerOptions answer_;
};

}  // namespace hone::cli
