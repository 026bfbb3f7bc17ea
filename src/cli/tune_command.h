// SPDX-License-Identifier: Apache-2.0
// hone tune -- python train.py
#pragma once

#include <string>
#include <vector>

#include "cli/answer.h"
#include "cli/verb.h"
#include "tune/process_runner.h"
#include "tune/search.h"

namespace hone::cli {

class TuneCommand : public Verb {
 public:
  const VerbInfo& info() const override;
  void Declare(CLI::App& app) override;
  bool TakesCommand() const override { return true; }
  void SetCommand(const std::vector<std::string>& command) override { command_ = command; }
  int Run(Console& console) override;

 private:
  void DeclareOutput(CLI::App& app);
  Status Check() const;
  Result<std::string> Folder() const;
  std::string OptionsText() const;  // those that change what is tried, for the journal
  Result<tune::TuneResult> Tune(const std::string& folder, tune::DiskWatch& disk,
                                Console& console) const;
  int Answer(const tune::TuneResult& result, Console& console) const;

  std::vector<std::string> command_;
  std::string budget_ = "10m", out_, resume_, treatments_, batch_flag_;
  std::vector<std::string> only_, skip_;
  double min_effect_ = 2, timeout_ = 0, seconds_ = 3;
  bool allow_optimization_ = false, allow_unchecked_ = false, no_record_ = false,
       no_confirm_ = false, json_ = false, markdown_ = false, quiet_ = false;
  AnswerOptions answer_;
};

}  // namespace hone::cli
