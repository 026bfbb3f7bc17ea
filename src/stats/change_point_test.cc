// SPDX-License-Identifier: Apache-2.0
#include "stats/change_point.h"

#include <random>

namespace hone::stats {
namespace {

std::vector<double> Noisy(std::size_t count, double level, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i) {
    values.push_back(level * (1 + 0.02 * (static_cast<double>(random() >> 40) / (1 << 24) - 0.5)));
  }
  return values;
}

TEST(Settled, FindsTheEndOfASlowStart) {
  std::vector<double> values = Noisy(25, 1.3, 1);
  const std::vector<double> rest = Noisy(75, 1.0, 2);
  values.insert(values.end(), rest.begin(), rest.end());
  // Ranks find a change, not its exact place: a few steps later is harmless.
  EXPECT_NEAR(static_cast<double>(FindChange(values).at), 25, 6);
  EXPECT_LT(FindChange(values).p, 1e-6);
  EXPECT_GE(SettledFrom(values, 10), 25U);
  EXPECT_LE(SettledFrom(values, 10), 31U);
}

TEST(Settled, TakesTheLeastWhereNothingChanges) {
  EXPECT_EQ(SettledFrom(Noisy(100, 1, 3), 10), 10U);
  // A single slow step is no change of level.
  std::vector<double> values = Noisy(100, 1, 4);
  values[40] = 50;
  EXPECT_EQ(SettledFrom(values, 10), 10U);
}

TEST(Settled, SlowerLaterIsNoWarmUp) {
  std::vector<double> values = Noisy(50, 1.0, 5);
  const std::vector<double> rest = Noisy(50, 1.3, 6);
  values.insert(values.end(), rest.begin(), rest.end());
  EXPECT_EQ(SettledFrom(values, 10), 10U);
}

TEST(Settled, NeverGivesAwayMoreThanHalf) {
  std::vector<double> values;
  for (int i = 0; i < 60; ++i) values.push_back(100.0 - i);
  EXPECT_LE(SettledFrom(values, 10), 30U);
  EXPECT_EQ(SettledFrom(Noisy(8, 1, 7), 10), 4U);
  EXPECT_EQ(SettledFrom({}, 10), 0U);
}

}  // namespace
}  // namespace hone::stats
