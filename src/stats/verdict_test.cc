// SPDX-License-Identifier: Apache-2.0
// How often a verdict is wrong, and how often it finds what is there, on simulated runs whose truth
// is known. Both rates are printed; docs/design/bench.md holds them for more comparisons.
#include "stats/verdict.h"

#include <cmath>
#include <cstdio>
#include <functional>
#include <random>

namespace hone::stats {
namespace {

// Uniform and normal numbers that are the same with every standard library.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  double Uniform() { return (static_cast<double>(engine_() >> 11) + 0.5) * 0x1p-53; }
  double Normal() {  // Box and Muller
    return std::sqrt(-2 * std::log(Uniform())) * std::cos(2 * M_PI * Uniform());
  }

 private:
  std::mt19937_64 engine_;
};

// The logarithm of a run's time; `when`: runs since the start, `slot`: place in its pair.
using Noise = std::function<double(Random&, int when, int slot)>;
struct Shape {
  const char* name;
  Noise noise;
};

Noise Normal(double sigma) {
  return [sigma](Random& random, int, int) { return sigma * random.Normal(); };
}

// One run in seven is disturbed by something else: up to tens of per cent slower.
double Disturbed(Random& random, int, int) {
  const double spike = random.Uniform() < 1.0 / 7 ? -0.1 * std::log(random.Uniform()) : 0;
  return 0.01 * random.Normal() + spike;
}
// Student's t with 2 degrees of freedom: no variance at all.
double HeavyTailed(Random& random, int, int) {
  return 0.015 * random.Normal() / std::sqrt(-std::log(random.Uniform()));
}
// The machine gets slower by 20 % while 20 pairs run.
double Drifting(Random& random, int when, int) { return 0.02 * random.Normal() + 0.2 * when / 40; }
// Whoever runs second takes 5 % longer.
double SlotBound(Random& random, int, int slot) { return 0.01 * random.Normal() + 0.05 * slot; }

const std::vector<Shape>& Shapes() {
  static const std::vector<Shape> kShapes = {
      {"normal 0.5 %", Normal(0.005)}, {"normal 3 %", Normal(0.03)},
      {"normal 10 %", Normal(0.10)},   {"heavy tails (t, 2)", HeavyTailed},
      {"1 of 7 disturbed", Disturbed}, {"drift 20 %", Drifting},
      {"second slot +5 %", SlotBound},
  };
  return kShapes;
}

// Every shape of noise has numbers of its own.
std::uint64_t Seed(const char* shape, std::uint64_t number) {
  std::uint64_t seed = number;
  for (; *shape != '\0'; ++shape) seed = seed * 1099511628211U + static_cast<unsigned char>(*shape);
  return seed;
}

// One whole comparison as `hone bench` makes it. B takes `slowdown` longer.
Verdict Simulate(const Noise& noise, double slowdown, std::uint64_t seed, int* pairs_used) {
  Random random(seed);
  std::vector<PairedRun> pairs;
  int when = 0;
  Judgement judgement;
  for (const Look& look : PlanLooks(20)) {
    while (static_cast<int>(pairs.size()) < look.pairs) {
      const bool a_first = pairs.size() % 2 == 0;
      const double first = noise(random, when++, 0), second = noise(random, when++, 1);
      const double a = a_first ? first : second;
      const double b = (a_first ? second : first) + std::log1p(slowdown);
      pairs.push_back({a - b, a_first});
    }
    // A quarter of the resamples: the tests are compiled to be small, not fast.
    judgement = Judge(pairs, look.alpha, kMinimumEffect, 1000);
    if (judgement.decided()) break;
  }
  *pairs_used += judgement.pairs;
  return judgement.verdict;
}

// Share of 200 comparisons with this verdict, or with any but "cannot tell".
double Rate(const Shape& shape, double slowdown, const char* what) {
  constexpr int kComparisons = 200;
  int said = 0, wrong_way = 0, pairs = 0;
  for (std::uint64_t seed = 1; seed <= kComparisons; ++seed) {
    const Verdict verdict = Simulate(shape.noise, slowdown, Seed(shape.name, seed), &pairs);
    said += verdict != Verdict::kCannotTell;
    wrong_way += verdict == Verdict::kFaster && slowdown > 0;
  }
  EXPECT_EQ(wrong_way, 0) << shape.name;
  std::printf("%-20s %s: %5.1f %% of %d comparisons, %.1f pairs on average\n", shape.name, what,
              100.0 * said / kComparisons, kComparisons, 1.0 * pairs / kComparisons);
  return 1.0 * said / kComparisons;
}

TEST(Verdict, OfAAgainstAIsCannotTellIn95OfAHundred) {
  for (const Shape& shape : Shapes()) {
    EXPECT_LE(Rate(shape, 0, "A/A, other than cannot tell"), 0.05) << shape.name;
  }
}

TEST(Verdict, FindsASlowdownOf5PerCentIn90OfAHundred) {
  for (const Shape& shape : Shapes()) {
    const double found = Rate(shape, 0.05, "5 % slowdown found");
    // What is noisier than 3 %, or has no variance at all, is printed and not promised.
    const std::string name = shape.name;
    const bool promised =
        name != "normal 10 %" && name != "1 of 7 disturbed" && name != "heavy tails (t, 2)";
    EXPECT_GE(found, promised ? 0.9 : 0.0) << name;
  }
}

std::vector<PairedRun> Pairs(const std::vector<double>& ratios) {
  std::vector<PairedRun> pairs;
  for (const double ratio : ratios) pairs.push_back({std::log(ratio), pairs.size() % 2 == 0});
  return pairs;
}

TEST(Judge, SaysFasterAndSlowerAsMirrors) {
  const auto faster = Judge(Pairs({1.30, 1.31, 1.32, 1.30, 1.31}), 0.018, 0.02);
  EXPECT_EQ(faster.verdict, Verdict::kFaster);
  EXPECT_NEAR(faster.ratio, 1.31, 0.01);
  EXPECT_GT(faster.interval.low, 1.27);
  const auto slower = Judge(Pairs({1 / 1.30, 1 / 1.31, 1 / 1.32, 1 / 1.30, 1 / 1.31}), 0.018, 0.02);
  EXPECT_EQ(slower.verdict, Verdict::kSlower);
  EXPECT_NEAR(slower.interval.low, 1 / faster.interval.high, 1e-3);
}

TEST(Judge, ASmallSureDifferenceIsNone) {
  const auto judged = Judge(Pairs({1.010, 1.011, 1.010, 1.009, 1.010}), 0.018, 0.02);
  EXPECT_EQ(judged.verdict, Verdict::kCannotTell);
  EXPECT_TRUE(judged.no_difference);
  EXPECT_TRUE(judged.decided());
  // It counts where less counts.
  EXPECT_EQ(Judge(Pairs({1.010, 1.011, 1.010, 1.009, 1.010}), 0.018, 0.005).verdict,
            Verdict::kFaster);
}

TEST(Judge, TwoPairsAreNoInterval) {
  const auto judged = Judge(Pairs({2, 2}), 0.05, 0.02);
  EXPECT_FALSE(judged.known);
  EXPECT_EQ(judged.verdict, Verdict::kCannotTell);
}

TEST(Looks, SpendWhatThereIsTogether) {
  for (const int most : {1, 5, 7, 10, 15, 20, 50}) {
    for (const int arms : {1, 3}) {
      double spent = 0;
      int before = 0;
      for (const Look& look : PlanLooks(most, arms)) {
        EXPECT_GT(look.pairs, before);
        before = look.pairs;
        spent += look.alpha;
      }
      EXPECT_EQ(before, most);
      EXPECT_NEAR(spent * arms, kAlpha, 1e-12);
    }
  }
}

}  // namespace
}  // namespace hone::stats
