// SPDX-License-Identifier: Apache-2.0
// hone help [TOPIC]
#pragma once

#include <string>

#include "cli/verb.h"

namespace hone::cli {

class Program;

class HelpCommand : public Verb {
 public:
  explicit HelpCommand(const Program& program) : program_(program) {}
  const VerbInfo& info() const override;
  void Declare(CLI::App& app) override;
  int Run(Console& console) override;

 private:
  std::string Topics() const;

  const Program& program_;
  std::string topic_;
};

}  // namespace hone::cli
