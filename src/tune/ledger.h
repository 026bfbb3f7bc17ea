// SPDX-License-Identifier: Apache-2.0
// Ledger: every rate that was measured, by recipe, and what can be concluded from them.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tune/trial.h"

namespace hone::tune {

// Five runs can agree by luck; no machine repeats itself better than this.
inline constexpr double kLeastNoise = 0.005;
// A few runs are a poor measure of scatter, so what is known of fresh processes elsewhere counts
// like that many more runs: about 1 % (docs/design/bench.md has 0.3 to 3 % on quiet machines).
inline constexpr double kUsualNoise = 0.01;
inline constexpr int kUsualRuns = 2;
// The chance that a search takes anything up where nothing helps, over all candidates and looks,
// by the formula. Scatter that is known from few runs and looks that depend on it make it more:
// with 2 % here up to 6.5 % of the simulated searches took something up, 5 % is the most.
inline constexpr double kFamilyAlpha = 0.012;
// Times a candidate is measured at most before it is decided.
inline constexpr int kMostLooks = 3;

// How much faster one recipe is than another.
struct Contrast {
  double log_gain = 0;
  double error = 0;  // standard error of it
  int degrees = 0;   // that the error is known by
  double factor() const;
};

enum class Speed { kFaster, kNotFaster, kNear };

class Ledger {
 public:
  // A trial that ended well.
  void Add(const Trial& trial);

  std::size_t Runs(const Recipe& recipe) const;
  // Geometric mean of its runs; none without one.
  std::optional<double> Rate(const Recipe& recipe) const;
  // Of its last run, as a whole: the first one may have filled caches. None without one.
  std::optional<double> Wall(const Recipe& recipe) const;
  // Of its first run, which found nothing in caches.
  std::optional<double> FirstWall(const Recipe& recipe) const;
  // Scatter of one run around the mean of its recipe, relative, pooled over all recipes that ran
  // more than once; none where none did.
  std::optional<double> noise() const;

  // Both ran. The error is by the scatter of both and of the untouched program.
  Contrast Compare(const Recipe& recipe, const Recipe& against) const;
  // By the rule of docs/design/tune.md. `candidates`: how many are tried in the whole search.
  Speed Judge(const Recipe& recipe, const Recipe& against, double least_effect,
              std::size_t candidates) const;

 private:
  struct Entry {
    std::vector<double> log_rates;
    double first_wall_s = 0, wall_s = 0;
  };
  // Of one run around the mean of its recipe, the usual noise counted in.
  struct Scatter {
    double sigma = 0;
    int degrees = 0;
  };
  Scatter ScatterOf(const std::set<const Entry*>& entries) const;
  const Entry* Find(const Recipe& recipe) const;

  std::map<std::string, Entry> entries_;
};

}  // namespace hone::tune
