// SPDX-License-Identifier: Apache-2.0
// hone bench -- CMD_A -- CMD_B
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/experiment.h"
#include "cli/answer.h"
#include "cli/verb.h"

namespace hone::cli {

class BenchCommand : public Verb {
 public:
  const VerbInfo& info() const override;
  void Declare(CLI::App& app) override;
  bool TakesCommand() const override { return true; }
  bool CommandNeedsDashes() const override { return true; }
  void SetCommand(const std::vector<std::string>& command) override { words_ = command; }
  int Run(Console& console) override;

 private:
  Result<bench::ExperimentPlan> Plan() const;
  int Measure(Console& console);
  int Answer(const bench::Benchmark& benchmark, Console& console) const;

  std::vector<std::string> words_;
  std::string metric_ = "wall", budget_;
  std::int64_t pairs_ = 20;
  double min_effect_ = 2, timeout_ = 0;
  bool higher_ = false, quiet_ = false;
  AnswerOptions answer_;
};

}  // namespace hone::cli
