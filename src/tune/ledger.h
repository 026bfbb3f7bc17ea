// SPDX-License-Identifier: Apache-2.0
// Ledger: every rate that was measured, by recipe, and what can be concluded from them.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tune/trial.h"

namespace hone::tune {

// Five runs can agree by luck; no machine repeats itself better than this.
inline constexpr double kLeastNoise = 0.005;
// The chance that a search takes anything up where nothing helps, over all candidates and looks.
inline constexpr double kFamilyAlpha = 0.04;
// Times a candidate is measured at most before it is decided.
inline constexpr int kMostLooks = 3;

// How much faster one recipe is than another.
struct Contrast {
  double log_gain = 0;
  double error = 0;  // standard error of it
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
  // The longest of its runs, as a whole; none without one.
  std::optional<double> Wall(const Recipe& recipe) const;
  // Scatter of one run around the mean of its recipe, relative, pooled over all recipes that ran
  // more than once; and how many degrees of freedom that has. Without any: nothing is known.
  std::optional<double> noise() const;
  int degrees() const;

  // Both ran.
  Contrast Compare(const Recipe& recipe, const Recipe& against) const;
  // By the rule of docs/design/tune.md. `candidates`: how many are tried in the whole search.
  Speed Judge(const Contrast& contrast, double least_effect, std::size_t candidates) const;

 private:
  struct Entry {
    std::vector<double> log_rates;
    double wall_s = 0;
  };
  const Entry* Find(const Recipe& recipe) const;

  std::map<std::string, Entry> entries_;
};

}  // namespace hone::tune
