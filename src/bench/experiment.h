// SPDX-License-Identifier: Apache-2.0
// Experiment: runs the arms by turns, a fresh process each time, until the verdict stands, the
// pairs are used up, the budget is spent or somebody presses Ctrl-C.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "bench/compare.h"
#include "bench/result.h"
#include "record/environment.h"

namespace hone::bench {

struct ExperimentPlan {
  std::vector<std::vector<std::string>> commands;  // one an arm
  Metric metric;
  int pairs = 20;
  double budget_s = 0;       // 0: none
  double timeout_s = 0;      // of a run; 0: none for the first, then ten times the longest and 10 s
  std::int64_t warmup = -1;  // steps; -1: by rule
  std::string folder;        // where outputs and probes go; it exists
  std::string inject;        // folder of Python's start-up file; empty: no probe
  record::Variables variables;
  CompareOptions compare;
};

struct ExperimentProgress {
  int pair = 1, pairs = 1;  // the one that runs, and how many there will be at most
  std::string arm;
  double elapsed_s = 0;
  std::optional<double> left_s;  // at most; from the pairs so far
  const Comparison* latest = nullptr;
};

class ExperimentListener {
 public:
  virtual ~ExperimentListener() = default;
  virtual void Progress(const ExperimentProgress& progress) = 0;  // ten times a second
};

// The error is one sentence: a command that cannot be started, that fails or runs too long, or a
// number that cannot be had.
Result<Benchmark> RunExperiment(const ExperimentPlan& plan, ExperimentListener& listener);

// "A", "B", …, "Z", "A2", …
std::string ArmName(std::size_t arm);

}  // namespace hone::bench
