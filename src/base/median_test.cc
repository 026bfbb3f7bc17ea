// SPDX-License-Identifier: Apache-2.0
#include "base/median.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace hone {
namespace {

TEST(Median, OfAnEvenNumberLiesBetween) {
  std::vector<double> values = {40, 10, 20, 31};
  EXPECT_DOUBLE_EQ(MedianInPlace(values), 25.5);
  std::vector<std::int64_t> whole = {INT64_MAX, INT64_MAX - 3};
  EXPECT_EQ(MedianInPlace(whole), INT64_MAX - 2);  // no sum that overflows
  std::vector<std::int64_t> odd = {7, 1, 3};
  EXPECT_EQ(MedianInPlace(odd), 3);
}

TEST(Median, UpperOneWasMeasured) {
  EXPECT_EQ(UpperMedian(std::vector<int>{4, 1, 2, 3}), 3);
  EXPECT_EQ(UpperMedian(std::vector<int>{}, -1), -1);
}

}  // namespace
}  // namespace hone
