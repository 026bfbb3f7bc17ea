// SPDX-License-Identifier: Apache-2.0
// hone bench -- CMD_A -- CMD_B, hone bench A.json B.json
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
  void DeclareOutput(CLI::App& app);
  Status Check(std::size_t commands) const;
  Result<bench::ExperimentPlan> Plan() const;
  bench::CompareOptions Comparing() const;
  // The two ways to a benchmark: runs now, or files. On failure `code` is what to exit with.
  Result<bench::Benchmark> Measure(Console& console, int& code) const;
  Result<bench::Benchmark> Read(int& code) const;
  Status UseMetric(bench::Benchmark& benchmark, const std::string& whose) const;
  int Answer(const bench::Benchmark& benchmark, Console& console) const;
  int WritePictures(const bench::Benchmark& benchmark, Console& console) const;

  std::vector<std::string> words_, files_;
  std::string metric_ = "wall", budget_, save_, against_, svg_, html_, separator_ = "--";
  std::vector<std::string> allow_;
  std::int64_t pairs_ = 20, warmup_ = -1;
  double min_effect_ = 2, timeout_ = 0;
  bool higher_ = false, quiet_ = false, aa_ = false, json_ = false, markdown_ = false,
       no_probe_ = false;
  const CLI::Option* metric_option_ = nullptr;
  const CLI::Option* pairs_option_ = nullptr;
  AnswerOptions answer_;
};

}  // namespace hone::cli
