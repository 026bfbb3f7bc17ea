// SPDX-License-Identifier: Apache-2.0
#include "analyze/steps_fixture_test.h"

namespace hone::analyze {
namespace {

using trace::SliceKind;

TEST_F(StepsTest, ProfilerStepsWithWarmUpAndStatistics) {
  // Lengths: 900 | 100 120 110 130 100 (ms of a program that compiles in its first step).
  Nanos at = 0;
  int number = 2;
  for (const Nanos length : {900, 100, 120, 110, 130, 100}) {
    Mark(at, at + length, "ProfilerStep#" + std::to_string(number++));
    at += length;
  }
  const Steps steps = Find();
  EXPECT_EQ(steps.source, StepSource::kProfilerStep);
  ASSERT_EQ(steps.steps.size(), 6U);
  EXPECT_EQ(steps.steps[0].number, 2);
  EXPECT_EQ(steps.warm_up_count, 1U);
  EXPECT_TRUE(steps.steps[0].warm_up);
  EXPECT_EQ(steps.steady_window.hull(), (trace::Interval{900, 1460}));
  ASSERT_TRUE(steps.stats.has_value());
  EXPECT_EQ(steps.stats->count, 5U);
  EXPECT_EQ(steps.stats->median_ns, 110);
  EXPECT_EQ(steps.stats->mean_ns, 112);
  EXPECT_EQ(steps.stats->min_ns, 100);
  EXPECT_EQ(steps.stats->max_ns, 130);
  EXPECT_EQ(steps.stats->p95_ns, 128);  // rank 3.8: 120 + 0.8 * 10
}

TEST_F(StepsTest, SlowStepInTheMiddleIsNoWarmUp) {
  Nanos at = 0;
  for (int i = 0; i < 6; ++i) {
    const Nanos length = i == 1 ? 900 : 100;
    Mark(at, at + length, "ProfilerStep#" + std::to_string(i));
    at += length;
  }
  EXPECT_EQ(Find().warm_up_count, 0U);
}

TEST_F(StepsTest, WarmUpIsNeverMoreThanHalf) {
  Nanos at = 0;
  for (const Nanos length : {900, 800, 700, 100}) {
    Mark(at, at + length, "ProfilerStep#" + std::to_string(at));
    at += length;
  }
  EXPECT_LE(Find().warm_up_count, 2U);
}

TEST_F(StepsTest, CopiesAndOverlapsOfMarks) {
  for (int copy = 0; copy < 25; ++copy) {
    Mark(0, 100, "ProfilerStep#1");
    Mark(99, 200, "ProfilerStep#2");   // begins before the first ends
    Mark(120, 150, "ProfilerStep#7");  // inside another
    Mark(200, 300, "ProfilerStep#3");
  }
  const Steps steps = Find();
  ASSERT_EQ(steps.steps.size(), 3U);
  EXPECT_EQ(steps.steps[0].span, (trace::Interval{0, 99}));
  EXPECT_EQ(steps.steps[1].span, (trace::Interval{99, 200}));
  EXPECT_EQ(steps.steps[2].number, 3);
}

TEST_F(StepsTest, StubAtTheEndIsNoStep) {
  for (int i = 0; i < 4; ++i) {
    Mark(i * 1000, i * 1000 + 1000, "ProfilerStep#" + std::to_string(i));
    for (int k = 0; k < 40; ++k)
      Mark(i * 1000 + k * 10, i * 1000 + k * 10 + 5, "aten::add", SliceKind::kOp);
  }
  Mark(4000, 4020, "ProfilerStep#4");
  Mark(4001, 4002, "aten::add", SliceKind::kOp);
  EXPECT_EQ(Find().steps.size(), 4U);
}

TEST_F(StepsTest, FastLastStepStays) {
  for (int i = 0; i < 5; ++i) {
    const Nanos scale = i == 4 ? 2 : 10;
    const Nanos at = i * 1000;
    Mark(at, at + 100 * scale, "ProfilerStep#" + std::to_string(i));
    for (int k = 0; k < 40; ++k)
      Mark(at + k * scale, at + k * scale + 1, "aten::add", SliceKind::kOp);
  }
  EXPECT_EQ(Find().steps.size(), 5U);
}

TEST_F(StepsTest, EmptyTrace) {
  const Steps steps = Find();
  EXPECT_EQ(steps.source, StepSource::kNone);
  EXPECT_TRUE(steps.steady_window.empty());
}

}  // namespace
}  // namespace hone::analyze
