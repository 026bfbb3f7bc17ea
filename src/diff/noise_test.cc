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

// How many of 300 comparisons of two runs of one program cry change.
double FalseAlarms(std::size_t steps, double step_noise, double memory) {
  Runs runs(steps * 1000 + static_cast<std::uint64_t>(step_noise * 1e4));
  int alarms = 0;
  for (int i = 0; i < 300; ++i) {
    const auto a = runs.Run(steps, step_noise, memory), b = runs.Run(steps, step_noise, memory);
    const Verdict verdict = CompareSteps(a, b).verdict;
    if (verdict == Verdict::kFaster || verdict == Verdict::kSlower) ++alarms;
  }
  return alarms / 300.0;
}

double Found(std::size_t steps, double step_noise, double slower) {
  Runs runs(99);
  int found = 0;
  for (int i = 0; i < 100; ++i) {
    const auto a = runs.Run(steps, step_noise, 0), b = runs.Run(steps, step_noise, 0, slower);
    if (CompareSteps(a, b).verdict == Verdict::kSlower) ++found;
  }
  return found / 100.0;
}

TEST(Noise, TwoRunsOfOneProgramSeldomCryChange) {
  for (const double noise : {0.002, 0.03}) {
    for (const std::size_t steps : {4, 8, 30}) {
      EXPECT_LE(FalseAlarms(steps, noise, 0), 0.08) << steps << " steps, noise " << noise;
      EXPECT_LE(FalseAlarms(steps, noise, 0.5), 0.10) << steps << " steps alike, noise " << noise;
    }
  }
}

TEST(Noise, FivePercentSlowerIsFound) {
  EXPECT_GE(Found(4, 0.002, 1.05), 0.99);
  EXPECT_GE(Found(8, 0.01, 1.05), 0.90);
  EXPECT_GE(Found(30, 0.01, 1.05), 0.99);
  EXPECT_GE(Found(30, 0.03, 1.05), 0.85);
}

TEST(Noise, OnePercentIsNotTakenForAChange) { EXPECT_LE(Found(30, 0.002, 1.01), 0.5); }

TEST(Noise, SwappedSidesTurnTheAnswerRound) {
  Runs runs(7);
  for (const std::size_t steps : {3, 5, 12, 40}) {
    const auto a = runs.Run(steps, 0.02, 0.3), b = runs.Run(steps + 2, 0.01, 0, 1.04);
    const StepChange there = CompareSteps(a, b), back = CompareSteps(b, a);
    EXPECT_EQ(there.delta_ns(), -back.delta_ns());
    EXPECT_EQ(there.range->low_ns, -back.range->high_ns);
    EXPECT_EQ(there.range->high_ns, -back.range->low_ns);
  }
}

TEST(Noise, TheSameRecordingIsNoChangeAtAll) {
  const auto steps = Runs(3).Run(10, 0.05, 0);
  const StepChange change = CompareSteps(steps, steps);
  EXPECT_EQ(change.delta_ns(), 0);
  EXPECT_EQ(change.verdict, Verdict::kWithinNoise);
}

TEST(Noise, StepsWithoutSpreadStillDifferBetweenRuns) {
  const std::vector<Nanos> a(20, 100'000), b(20, 101'400), c(20, 101'600);
  EXPECT_EQ(CompareSteps(a, b).verdict, Verdict::kWithinNoise);  // 1.4 %
  EXPECT_EQ(CompareSteps(a, c).verdict, Verdict::kSlower);       // 1.6 %
  EXPECT_EQ(CompareSteps(c, a).verdict, Verdict::kFaster);
}

TEST(Noise, TooFewStepsSaySo) {
  const std::vector<Nanos> two = {100, 200}, five = {100, 100, 100, 100, 100};
  const StepChange change = CompareSteps(five, two);
  EXPECT_EQ(change.verdict, Verdict::kUnsure);
  EXPECT_EQ(change.after_ns, 150);
  EXPECT_EQ(change.range.why_not(),
            "2 steady steps in the second recording; the noise shows in 3 or more");
  EXPECT_NE(CompareSteps({five.begin(), 3}, five).verdict, Verdict::kUnsure);
}

TEST(Noise, ManyStepsAreComparedToo) {
  Runs runs(11);
  const auto a = runs.Run(6'000, 0.02, 0), b = runs.Run(6'000, 0.02, 0, 1.04);
  EXPECT_EQ(CompareSteps(a, b).verdict, Verdict::kSlower);
}

// Steps of 1 ms, of which one in `every` takes 150: a program that compiles again now and then.
std::vector<Nanos> WithSlowSteps(std::size_t steps, std::uint64_t every, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Nanos> lengths;
  for (std::size_t i = 0; i < steps; ++i) {
    const Nanos usual = 980'000 + static_cast<Nanos>(random() % 40'000);
    lengths.push_back(random() % every == 0 ? 150 * usual : usual);
  }
  return lengths;
}

TEST(Noise, WhatSlowStepsTakeIsComparedByTheMean) {
  std::vector<Nanos> before(60, 1'000'000), after(120, 1'000'000);
  for (std::size_t i = 5; i < before.size(); i += 9) before[i] = 100'000'000;  // seven
  for (const std::size_t i : {20, 80}) after[i] = 3'000'000;
  const StepChange change = CompareSteps(before, after);
  EXPECT_TRUE(change.by_mean);
  EXPECT_EQ(change.before_median_ns, change.after_median_ns);
  EXPECT_EQ(change.before_ns, 12'550'000);
  EXPECT_EQ(change.after_ns, 1'033'333);  // alike by itself: one side is enough
  EXPECT_EQ(change.verdict, Verdict::kFaster);
  EXPECT_LE(change.range->low_ns, change.delta_ns());
  EXPECT_GE(change.range->high_ns, change.delta_ns());
  EXPECT_EQ(CompareSteps(after, before).verdict, Verdict::kSlower);
  EXPECT_EQ(CompareSteps(after, before).range->low_ns, -change.range->high_ns);
}

// Every other step waits for its batch, more or less: 36.8 ms and about twice that. The median
// lies near the mean by chance, and jumps when one step is drawn for another.
TEST(Noise, StepsOfTwoKindsAreComparedByTheMean) {
  const std::vector<Nanos> before = {38'800, 70'600, 36'800,  57'000,  59'400, 55'100, 36'900,
                                     83'500, 36'800, 101'000, 36'800,  65'000, 36'900, 74'600,
                                     42'600, 85'900, 36'800,  107'400, 36'900};
  const std::vector<Nanos> after(19, 36'800);
  const StepChange change = CompareSteps(before, after);
  EXPECT_TRUE(change.by_mean);
  EXPECT_EQ(change.verdict, Verdict::kFaster);
  EXPECT_EQ(CompareSteps(after, before).verdict, Verdict::kSlower);
}

// Three steps each, of 100 and more: that no change shows is no news.
TEST(Noise, WhatMayBeAnythingIsNotCalledNoChange) {
  const std::vector<Nanos> before = {100, 95, 124}, after = {105, 99, 96};
  EXPECT_EQ(CompareSteps(before, after).verdict, Verdict::kUnsure);
}

TEST(Noise, FewSlowStepsAgainstNoneCannotBeTold) {
  const std::vector<Nanos> none(60, 1'000'000);
  for (const std::size_t slow : {1, 2, 4}) {
    std::vector<Nanos> some = none;
    for (std::size_t i = 0; i < slow; ++i) some[7 + 14 * i] = 150'000'000;
    const StepChange change = CompareSteps(some, none);
    EXPECT_TRUE(change.by_mean);
    EXPECT_EQ(change.verdict, Verdict::kUnsure) << slow << " slow steps";
    EXPECT_GE(change.range->high_ns, 0);
  }
}

TEST(Noise, TwoRunsOfOneProgramWithSlowStepsSeldomCryChange) {
  for (const std::size_t steps : {12, 60, 120}) {
    int alarms = 0;
    for (std::uint64_t i = 0; i < 200; ++i) {
      const StepChange change =
          CompareSteps(WithSlowSteps(steps, 12, 2 * i), WithSlowSteps(steps, 12, 2 * i + 1));
      if (change.verdict == Verdict::kFaster || change.verdict == Verdict::kSlower) ++alarms;
    }
    EXPECT_LE(alarms, 14) << steps << " steps";
  }
}

TEST(Noise, OneSlowStepDoesNotHideThatAllAreFaster) {
  const std::vector<Nanos> before = {500, 501, 499, 1000, 500, 502, 500, 498}, after(8, 300);
  const StepChange change = CompareSteps(before, after);
  EXPECT_TRUE(change.by_mean);
  EXPECT_EQ(change.verdict, Verdict::kFaster);
}

TEST(Noise, TheSameSlowStepsAreNoChangeAtAll) {
  const std::vector<Nanos> steps = WithSlowSteps(60, 10, 4);
  const StepChange change = CompareSteps(steps, steps);
  EXPECT_TRUE(change.by_mean);
  EXPECT_EQ(change.delta_ns(), 0);
  EXPECT_EQ(change.verdict, Verdict::kWithinNoise);
}

TEST(Noise, PlainStepsAreComparedByTheMedian) {
  const std::vector<Nanos> before = {100, 101, 99, 100, 109, 100}, after = {50, 51, 50, 50, 49, 58};
  const StepChange change = CompareSteps(before, after);
  EXPECT_FALSE(change.by_mean);
  EXPECT_EQ(change.before_ns, 100);
  EXPECT_EQ(change.after_ns, 50);
  EXPECT_EQ(change.before_median_ns, 100);
  EXPECT_EQ(change.after_median_ns, 50);
  EXPECT_EQ(change.verdict, Verdict::kFaster);
}

}  // namespace
}  // namespace hone::diff
