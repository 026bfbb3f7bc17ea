// SPDX-License-Identifier: Apache-2.0
// ProcessRunner: trials as real processes, each in a folder of its own.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/child.h"
#include "bench/experiment.h"
#include "record/environment.h"
#include "tune/disk_watch.h"
#include "tune/trial_runner.h"

namespace hone::tune {

struct ProcessOptions {
  std::vector<std::string> command;
  std::string folder;      // of the search: trial-001, trial-002, …, confirm; it exists
  std::string inject;      // of Python's start-up file
  std::string treatments;  // folder of further treatments; may be empty
  std::string batch_flag;  // the command's own option for its batch (batch_flag.h); may be empty
  record::Variables variables;
  std::function<void()> tick;                    // ten times a second in a trial; may be empty
  std::function<void()> ran;                     // after each trial; may be empty
  bench::ExperimentListener* confirm = nullptr;  // progress of the confirmation; may be null
  double lost_s = bench::ChildOptions().lost_s;  // for a program to replace a killed process
  DiskWatch* disk = nullptr;                     // asked when a trial fails; may be null
  // The budget counts from here: what came before the first trial took time too.
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
};

// Takes the signals over while it lives (bench/child.h): the process must have one thread when it
// is made.
class ProcessRunner : public TrialRunner {
 public:
  static Result<std::unique_ptr<ProcessRunner>> Make(ProcessOptions options);

  Result<Trial> Run(const TrialOrder& order, const std::string& purpose) override;
  const Description& description() const override { return description_; }
  Result<bench::Benchmark> Confirm(const ConfirmOrder& order) override;
  double Elapsed() const override;
  bool interrupted() override { return runner_.interrupted(); }

 private:
  ProcessRunner(ProcessOptions options, bench::ChildRunner runner);
  Result<Trial> RunOnce(const TrialOrder& order, const std::string& purpose);
  Result<bench::Benchmark> Compare(const ConfirmOrder& order);

  ProcessOptions options_;
  bench::ChildRunner runner_;
  Description description_;
  int next_ = 1;  // number of the next trial's folder
};

// What the files in a trial's folder and its end say. `outcome` is of the program that was started;
// `description` is filled where the child wrote one. Separate from Run for its tests.
Result<Trial> ReadTrial(const std::string& folder, const bench::ChildOutcome& outcome,
                        const TrialOrder& order, Description& description);

// order.json (python/hone/_trial.py reads it).
std::string OrderJson(const TrialOrder& order, const std::string& treatments);

}  // namespace hone::tune
