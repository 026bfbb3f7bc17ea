// SPDX-License-Identifier: Apache-2.0
#include "stats/quantile.h"

namespace hone::stats {
namespace {

TEST(Quantile, LiesBetweenNeighbours) {
  const std::vector<double> values = {40, 10, 30, 20};
  EXPECT_DOUBLE_EQ(Quantile(values, 0), 10);
  EXPECT_DOUBLE_EQ(Quantile(values, 1), 40);
  EXPECT_DOUBLE_EQ(Median(values), 25);
  EXPECT_DOUBLE_EQ(Quantile(values, 0.9), 37);
  EXPECT_DOUBLE_EQ(Median(std::vector<double>{7}), 7);
}

TEST(FarFromRest, FlagsWhatIsTenMadsAwayAndNoNearMiss) {
  // Median 100, MAD 1.
  EXPECT_EQ(FarFromRest(std::vector<double>{98, 99, 100, 101, 102, 111}),
            (std::vector<std::size_t>{}));
  EXPECT_EQ(FarFromRest(std::vector<double>{99, 99, 100, 101, 101, 100, 112}),
            (std::vector<std::size_t>{6}));
  EXPECT_TRUE(FarFromRest(std::vector<double>{5, 5, 5, 5, 9}).empty()) << "no scatter, no scale";
}

}  // namespace
}  // namespace hone::stats
