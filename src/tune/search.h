// SPDX-License-Identifier: Apache-2.0
// Search: which treatments make this program faster, together, without changing what it learns?
//
// Greedy forward selection in the order of what is to be expected, every step guarded; what was
// dropped is tried again on top of the result, what no longer earns its place is taken out, and the
// winner is compared with the untouched program in pairs. docs/design/tune.md has the rules.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "tune/result.h"
#include "tune/trial_runner.h"

namespace hone::tune {

struct SearchOptions {
  double budget_s = 600;  // of everything, the confirmation included
  double least_effect = stats::kMinimumEffect;
  double seconds = 3;    // of steady steps in the first run
  double timeout_s = 0;  // of a trial; 0: by rule
  // Factors by the doctor's replay of the recorded program, by rule ("input-bound" -> 1.9). With
  // `diagnosed` a rule that is not named was looked for and not found.
  std::map<std::string, double> predicted;
  bool diagnosed = false;
  // The replay itself: the factor with all of these rules cured. May be empty: factors multiply.
  std::function<std::optional<double>(const std::set<std::string>&)> predict;
  // Rules about waiting for data: what cures nothing else cannot give back more than that wait.
  std::set<std::string> loader_rules = {"input-bound", "worker-restart"};
  std::set<std::string> only, skip;  // treatments by name; empty `only`: all
  bool allow_optimization = false;   // adopt what changes the training itself
  bool allow_unchecked = false;      // adopt what rounds where no loss could be compared
  bool confirm = true;
};

// What happens, as it happens.
class SearchListener {
 public:
  struct Start {
    std::string purpose;  // of the trial: "forward"
    const Recipe& recipe;
    const Candidate* candidate = nullptr;  // the one that is on trial, if it is one
    int number = 1;                        // of the trial, from 1
    double elapsed_s = 0, left_s = 0;      // of the budget
  };
  virtual ~SearchListener() = default;
  virtual void Started(const Start& start) = 0;
  // `decision`: "1.42x on top of 2 treatments: adopted", for people.
  virtual void Ended(const Trial& trial, const std::string& decision) = 0;
  virtual void Confirming(const ConfirmOrder& order) = 0;
  virtual void Confirmed(const bench::Benchmark& benchmark, const std::string& decision) = 0;
};

// The error is one sentence: the program as it is fails, is never seen to step, cannot be started,
// or was stopped before it had been measured. Later Ctrl-C and a spent budget are no errors:
// TuneResult::ended.
Result<TuneResult> Search(const SearchOptions& options, TrialRunner& runner,
                          SearchListener& listener);

// The part of the budget that trials may not use: it is for the confirmation. Up to the second
// figure where that buys five pairs; else three pairs, whatever they take.
inline constexpr double kReservedShare = 0.25;
inline constexpr double kMostReserved = 0.35;
inline constexpr int kLeastPairs = 5, kFewestPairs = 3;
// Above this much of a device's memory a recipe has no margin: the next longer sample, or a
// fragmented allocator, ends the real run (Lightning's tuner keeps the same 5 %).
inline constexpr double kMostMemory = 0.95;

}  // namespace hone::tune
