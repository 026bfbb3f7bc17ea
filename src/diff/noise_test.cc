// SPDX-License-Identifier: Apache-2.0
#include "diff/noise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace hone::diff {
namespace {

constexpr double kStep = 50e6;  // 50 ms

// Steps as programs have them: each differs from the next by `step_noise` (of the median), in part
// like its neighbour (`memory`), with now and then a slow one; and each run as a whole differs from
// the next so that medians of two runs lie within 1.5 % of each other 19 times in 20.
class Runs {
 public:
  explicit Runs(std::uint64_t seed) : random_(seed) {}

  std::vector<Nanos> Run(std::size_t steps, double step_noise, double memory, double slower = 1) {
    const double level = kStep * slower * (1 + Normal() * 0.015 / 1.96 / std::sqrt(2.0));
    std::vector<Nanos> lengths;
    double before = Normal();
    for (std::size_t i = 0; i < steps; ++i) {
      before = memory * before + std::sqrt(1 - memory * memory) * Normal();
      const bool hiccup = random_() % 20 == 0;
      lengths.push_back(
          std::llround(level * (1 + step_noise * before + (hiccup ? 5 * step_noise : 0))));
    }
    return lengths;
  }

 private:
  double Normal() { return normal_(random_); }
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
};

// Of 1,000 comparisons of two runs of one program, how many cry change.
double FalseAlarms(std::size_t steps, double step_noise, double memory) {
  Runs runs(steps * 1000 + static_cast<std::uint64_t>(step_noise * 1e4));
  int alarms = 0;
  for (int i = 0; i < 1000; ++i) {
    const auto a = runs.Run(steps, step_noise, memory), b = runs.Run(steps, step_noise, memory);
    const Verdict verdict = CompareSteps(a, b).verdict;
    if (verdict == Verdict::kFaster || verdict == Verdict::kSlower) ++alarms;
  }
  return alarms / 1000.0;
}

double Found(std::size_t steps, double step_noise, double slower) {
  Runs runs(99);
  int found = 0;
  for (int i = 0; i < 300; ++i) {
    const auto a = runs.Run(steps, step_noise, 0), b = runs.Run(steps, step_noise, 0, slower);
    if (CompareSteps(a, b).verdict == Verdict::kSlower) ++found;
  }
  return found / 300.0;
}

TEST(Noise, Print) {
  for (const double noise : {0.002, 0.01, 0.03, 0.1}) {
    for (const double memory : {0.0, 0.5}) {
      for (const std::size_t steps : {3, 4, 5, 8, 15, 30, 100}) {
        printf("noise %.3f memory %.1f steps %3zu: false %.3f found5 %.2f\n", noise, memory, steps,
               FalseAlarms(steps, noise, memory), Found(steps, noise, 1.05));
      }
    }
  }
}

}  // namespace
}  // namespace hone::diff
