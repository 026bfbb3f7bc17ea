// SPDX-License-Identifier: Apache-2.0
// `hone run`: starts a program with the recorder inside, and answers when enough was seen.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/answer.h"
#include "cli/verb.h"
#include "record/environment.h"

namespace hone::cli {

class RunCommand : public Verb {
 public:
  const VerbInfo& info() const override;
  void Declare(CLI::App& app) override;
  bool TakesCommand() const override { return true; }
  void SetCommand(const std::vector<std::string>& command) override { command_ = command; }
  // The program's own exit code once it has started.
  int Run(Console& console) override;

 private:
  record::RecordOptions Options() const;
  std::vector<std::pair<std::string, std::string>> Facts(
      const record::Environment& environment) const;

  std::vector<std::string> command_;
  CLI::Option *steps_given_ = nullptr, *out_given_ = nullptr;
  std::int64_t steps_ = 30, stack_hz_ = -1;
  std::optional<std::int64_t> every_;
  double seconds_ = 0;
  std::string memory_;
  std::vector<std::string> collect_;
  bool all_ = false, quiet_ = false, no_analyze_ = false;
  std::string out_, recipe_;
  AnswerOptions answer_;
};

}  // namespace hone::cli
