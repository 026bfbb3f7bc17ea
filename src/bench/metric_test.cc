// SPDX-License-Identifier: Apache-2.0
#include "bench/metric.h"

namespace hone::bench {
namespace {

TEST(Metric, TheLastMatchCounts) {
  const Result<Metric> metric = ParseMetric("regex:loss[ =]([-+.0-9e]+)", false);
  ASSERT_TRUE(metric);
  EXPECT_DOUBLE_EQ(*FindNumber(*metric, "loss 3.5\nloss=1.25e1\nother 7\n"), 12.5);
  EXPECT_DOUBLE_EQ(*FindNumber(*metric, "step 1 loss 3\rstep 2 loss 2"), 2);
  EXPECT_FALSE(FindNumber(*metric, "nothing"));
  EXPECT_NE(FindNumber(*metric, "loss -1").error().message().find("above 0"), std::string::npos);
  EXPECT_FALSE(FindNumber(*metric, "loss 0"));
}

TEST(Metric, ANumberIsReadWholeOrNotAtAll) {
  const Result<Metric> metric = ParseMetric("regex:throughput: (\\S+)", true);
  EXPECT_DOUBLE_EQ(*FindNumber(*metric, "throughput: 1,050"), 1050);
  EXPECT_DOUBLE_EQ(*FindNumber(*metric, "throughput: 1,234,567.5,"), 1234567.5);
  EXPECT_DOUBLE_EQ(*FindNumber(*metric, "throughput: ~950/s"), 950);
  for (const char* text : {"1.2k", "1,5", "1,0500", "12ms", "3:20", "1.2.3"}) {
    const Result<double> found = FindNumber(*metric, std::string("throughput: ") + text);
    ASSERT_FALSE(found) << text;
    EXPECT_NE(found.error().message().find("not a plain number"), std::string::npos);
  }
}

TEST(Metric, WhatIsNoneIsSaid) {
  EXPECT_NE(ParseMetric("wal", false).error().message().find("wall"), std::string::npos);
  EXPECT_NE(ParseMetric("regex:(", false).error().message().find("regular"), std::string::npos);
  EXPECT_FALSE(ParseMetric("regex:", false));
  EXPECT_TRUE(ParseMetric("samples", false)->higher_is_better);
  EXPECT_FALSE(ParseMetric("wall", true)->higher_is_better);
}

}  // namespace
}  // namespace hone::bench
