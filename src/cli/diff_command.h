// SPDX-License-Identifier: Apache-2.0
// hone diff BEFORE AFTER [options]
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/answer.h"
#include "cli/job.h"
#include "cli/verb.h"
#include "diff/gate.h"
#include "report/diff/diff_report.h"

namespace hone::cli {

class DiffCommand : public Verb {
 public:
  const VerbInfo& info() const override;
  void Declare(CLI::App& app) override;
  int Run(Console& console) override;

 private:
  Result<std::vector<diff::Condition>> Conditions() const;
  JobOptions Job(const std::string& path) const;
  int Answer(const report::DiffReport& report, Console& console) const;

  std::string before_, after_;
  bool json_ = false, markdown_ = false, all_ = false, stable_ = false, quiet_ = false;
  std::string html_;
  std::vector<std::string> fail_if_;
  std::int64_t limit_ = 20, rank_ = -1;
  const CLI::Option* limit_option_ = nullptr;
  AnswerOptions answer_;
};

}  // namespace hone::cli
