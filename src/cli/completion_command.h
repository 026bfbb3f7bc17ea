// SPDX-License-Identifier: Apache-2.0
// hone completion bash|zsh|fish
#pragma once

#include <string>

#include "cli/verb.h"

namespace hone::cli {

class Program;

class CompletionCommand : public Verb {
 public:
  explicit CompletionCommand(const Program& program) : program_(program) {}
  const VerbInfo& info() const override;
  void Declare(CLI::App& app) override;
  int Run(Console& console) override;

 private:
  const Program& program_;
  std::string shell_;
};

}  // namespace hone::cli
