// SPDX-License-Identifier: Apache-2.0
#include "trace/interval.h"

#include <gtest/gtest.h>

#include <bitset>
#include <random>

namespace hone::trace {
namespace {

IntervalSet Set(std::vector<Interval> intervals) {
  return IntervalSet::Union(std::move(intervals));
}

TEST(IntervalSet, UnionMergesOverlapAndTouchAndDropsEmpty) {
  const IntervalSet set = Set({{10, 20}, {0, 5}, {5, 7}, {15, 30}, {40, 40}, {50, 45}});
  EXPECT_EQ(set, Set({{0, 7}, {10, 30}}));
  EXPECT_EQ(set.length(), 27);
  EXPECT_EQ(set.hull(), (Interval{0, 30}));
  EXPECT_TRUE(Set({}).empty());
}

TEST(IntervalSet, LengthWithin) {
  const IntervalSet set = Set({{0, 10}, {20, 30}, {40, 50}});
  EXPECT_EQ(set.LengthWithin({5, 45}), 5 + 10 + 5);
  EXPECT_EQ(set.LengthWithin({10, 20}), 0);
  EXPECT_EQ(set.LengthWithin({-10, 100}), 30);
}

TEST(IntervalSet, SubtractKeepsACutThatReachesIntoTheNext) {
  EXPECT_EQ(Subtract(Set({{0, 10}, {12, 20}}), Set({{8, 15}})), Set({{0, 8}, {15, 20}}));
  EXPECT_EQ(Subtract(Set({{0, 10}}), Set({{0, 10}})), Set({}));
  EXPECT_EQ(Complement(Set({{2, 4}}), {0, 6}), Set({{0, 2}, {4, 6}}));
}

// The same questions answered moment by moment.
constexpr int kMoments = 64;
using Moments = std::bitset<kMoments>;

Moments ToMoments(const IntervalSet& set) {
  Moments moments;
  for (const Interval& interval : set) {
    for (Nanos t = interval.begin_ns; t < interval.end_ns; ++t)
      moments.set(static_cast<std::size_t>(t));
  }
  return moments;
}

TEST(IntervalSet, AgreesWithCountingMoments) {
  std::mt19937 random(7);
  const auto make = [&] {
    std::vector<Interval> intervals(random() % 8);
    for (Interval& interval : intervals) {
      interval.begin_ns = static_cast<Nanos>(random() % kMoments);
      interval.end_ns =
          std::min<Nanos>(kMoments, interval.begin_ns + static_cast<Nanos>(random() % 12));
    }
    return Set(std::move(intervals));
  };
  for (int round = 0; round < 20'000; ++round) {
    const IntervalSet a = make(), b = make();
    const Moments ma = ToMoments(a), mb = ToMoments(b);
    ASSERT_EQ(ToMoments(Unite(a, b)), ma | mb);
    ASSERT_EQ(ToMoments(Intersect(a, b)), ma & mb);
    ASSERT_EQ(ToMoments(Subtract(a, b)), ma & ~mb);
    ASSERT_EQ(IntersectLength(a, b), static_cast<Nanos>((ma & mb).count()));
    ASSERT_EQ(a.length(), static_cast<Nanos>(ma.count()));
  }
}

}  // namespace
}  // namespace hone::trace
