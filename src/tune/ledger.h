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

// Before a program has run often, its scatter is not known from nothing: runs of a training step
// scatter by about 2 % on a machine of one's own (hone's recordings of one H200: 0.5 to 3 %). Two
// or three runs that agree by luck, or do not, are weighed against so many runs that scatter so.
// Without it a gain of 2.9x was "near the limit" after three runs, as Student's quantile for one
// degree of freedom is above 300 at the levels used here.
inline constexpr double kUsualNoise = 0.02;
inline constexpr int kUsualDegrees = 4;
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
  // more than once and the usual one; and how many degrees of freedom that has.
  double noise() const;
  int degrees() const;
  // The measured part of it; none before a recipe ran twice.
  std::optional<double> scatter() const;

  // Both ran.
  Contrast Compare(const Recipe& recipe, const Recipe& against) const;
  // By the rule of docs/design/tune.md. `candidates`: how many are tried in the whole search.
  Speed Judge(const Contrast& contrast, double least_effect, std::size_t candidates) const;

 private:
  struct Squares {
    double sum = 0;
    int degrees = 0;
  };
  Squares Measured() const;

  struct Entry {
    std::vector<double> log_rates;
    double wall_s = 0;
  };
  const Entry* Find(const Recipe& recipe) const;

  std::map<std::string, Entry> entries_;
};

}  // namespace hone::tune
