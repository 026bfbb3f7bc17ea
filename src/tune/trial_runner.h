// SPDX-License-Identifier: Apache-2.0
// TrialRunner: what the search needs of the world. The real one starts processes
// (process_runner.h), the one of the tests simulates a program.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "bench/result.h"
#include "tune/trial.h"

namespace hone::tune {

// The paired comparison at the end: the program as it is against the program with the recipe.
struct ConfirmOrder {
  Recipe recipe;
  double budget_s = 0;  // no pair is begun that would end later
  int pairs = 20;       // at most
  std::int64_t steps = 0;
  double least_effect = stats::kMinimumEffect;
  double timeout_s = 0;        // of a run
  bool by_samples = false;     // a loader counts them; else steps are compared
  bool random_data = false;    // the dataset gives another item when asked again
  bool other_batches = false;  // the recipe changes the batch: that is meant
};

class TrialRunner {
 public:
  virtual ~TrialRunner() = default;

  // One run. A trial that ends badly is a Trial all the same (its `ending`); the error is for what
  // makes every further trial pointless: the command cannot be started, the probe never starts.
  virtual Result<Trial> Run(const TrialOrder& order, const std::string& purpose) = 0;
  // After a run whose order asked for it.
  virtual const Description& description() const = 0;
  virtual Result<bench::Benchmark> Confirm(const ConfirmOrder& order) = 0;
  // Seconds this search has taken, sessions before this one included.
  virtual double Elapsed() const = 0;
  virtual bool interrupted() = 0;
};

}  // namespace hone::tune
