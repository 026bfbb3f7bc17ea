// SPDX-License-Identifier: Apache-2.0
#include "analyze/grouping.h"

#include <gtest/gtest.h>

namespace hone::analyze {
namespace {

TEST(Grouping, IdsAreDenseInOrderOfFirstSight) {
  GroupIndex index;
  EXPECT_EQ(index.IdOf(900), 0U);
  EXPECT_EQ(index.IdOf(0), 1U);
  EXPECT_EQ(index.IdOf(900), 0U);
  EXPECT_EQ(index.IdOf(UINT64_MAX), 2U);
  for (std::uint64_t key = 0; key < 10'000; ++key) index.IdOf(key << 32);
  EXPECT_EQ(index.size(), 2U + 10'000);  // 0 << 32 is 0, seen before
  EXPECT_EQ(index.IdOf(UINT64_MAX), 2U);
  EXPECT_EQ(index.KeyOf(2), UINT64_MAX);
}

TEST(Grouping, PercentileInterpolatesAsNumpyDoes) {
  std::vector<Nanos> values = {80, 20, 60, 40};
  EXPECT_EQ(Percentile(values, 0.5), 50);  // numpy.percentile([20, 40, 60, 80], 50)
  EXPECT_EQ(Percentile(values, 0.95), 77);
  EXPECT_EQ(Percentile(values, 1.0), 80);
  EXPECT_EQ(Percentile(values, 0.0), 20);
  std::vector<Nanos> one = {7};
  EXPECT_EQ(Percentile(one, 0.95), 7);
  EXPECT_EQ(Percentile({}, 0.5), 0);
  std::vector<Nanos> absurd = {INT64_MIN, INT64_MAX};
  Percentile(absurd, 0.5);  // must not overflow
}

TEST(Grouping, SummarizesEachGroupAlone) {
  const std::vector<Nanos> values = {5, 100, 1, 3, 200, 999};
  const std::vector<std::uint32_t> groups = {0, 2, 0, 0, 2, kNoGroup};
  const auto stats = Summarize(values, groups, 3);
  EXPECT_EQ(stats[0].count, 3U);
  EXPECT_EQ(stats[0].total_ns, 9);
  EXPECT_EQ(stats[0].mean_ns, 3);
  EXPECT_EQ(stats[0].p50_ns, 3);
  EXPECT_EQ(stats[0].min_ns, 1);
  EXPECT_EQ(stats[0].max_ns, 5);
  EXPECT_EQ(stats[1].count, 0U);
  EXPECT_EQ(stats[2].total_ns, 300);
  EXPECT_EQ(stats[2].p95_ns, 195);
}

TEST(Grouping, SumsOfAbsurdInputStopAtTheLimit) {
  EXPECT_EQ(SaturatingAdd(INT64_MAX, 1), INT64_MAX);
  EXPECT_EQ(SaturatingAdd(INT64_MIN, -1), INT64_MIN);
  EXPECT_EQ(SaturatingAdd(INT64_MAX, -1), INT64_MAX - 1);
}

TEST(Grouping, DominantMemberHasMostWeightInAll) {
  Dominant dominant;
  dominant.Add(0, 7, 10);
  dominant.Add(0, 8, 6);
  dominant.Add(0, 8, 6);
  dominant.Add(2, 9, 0);
  EXPECT_EQ(dominant.Pick(3, 99), (std::vector<std::uint32_t>{8, 99, 9}));
}

}  // namespace
}  // namespace hone::analyze
