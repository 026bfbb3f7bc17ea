// SPDX-License-Identifier: Apache-2.0
#include "analyze/steps_fixture_test.h"

namespace hone::analyze {
namespace {

using trace::SliceKind;

class StepHolesTest : public StepsTest {};

// Two runs of two steps; the host waits for the device.
TEST_F(StepHolesTest, AHoleBelongsToNoStep) {
  for (const int number : {2, 3, 42, 43}) {
    const Nanos at = number * 1'000;
    Mark(at, at + 1'000, "ProfilerStep#" + std::to_string(number));
    Launch(at + 10, number);
    Kernel(at + 600, at + 900, "k", 7, number);
  }
  const Steps steps = Find();
  ASSERT_EQ(steps.steps.size(), 4U);
  EXPECT_FALSE(steps.device_clock);
  EXPECT_EQ(steps.steady_window.length(), 4'000);
  EXPECT_EQ(steps.host_window, steps.steady_window);
  ASSERT_EQ(steps.holes.size(), 1U);
  EXPECT_EQ(steps.holes[0].kind, Before::kOtherSteps);
  EXPECT_EQ(steps.holes[0].length_ns, 38'000);
  EXPECT_EQ(steps.hole_spans.hull(), (trace::Interval{4'000, 42'000}));
}

// The host marks steps of 100 ns and runs ahead of kernels that take 1,000: in each run.
TEST_F(StepHolesTest, OnTheDeviceClockAHoleBelongsToNoStepEither) {
  Nanos at = 0;
  for (const int number : {2, 3, 4, 42, 43, 44}) {
    if (number == 42) at = 100'000;
    const Nanos run = number < 42 ? 0 : 100'000;
    Mark(at, at + 100, "ProfilerStep#" + std::to_string(number));
    Launch(at + 10, number);
    const Nanos start = run + 50 + 1'000 * (number < 42 ? number - 2 : number - 42);
    Kernel(start, start + 1'000, "k", 7, number);
    at += 100;
  }
  const Steps steps = Find();
  EXPECT_TRUE(steps.device_clock);
  EXPECT_EQ(steps.stats->median_ns, 1'000);
  EXPECT_EQ(steps.stats->max_ns, 1'000);
  EXPECT_EQ(steps.steady_window.length(), 6'000);
}

// Labels of 100 ns, 300 apart, with these numbers.
TEST_F(StepHolesTest, OddNumbersOfLabelsMakeNoHoles) {
  const auto holes = [&](const std::vector<int>& numbers, const char* name = "iteration ") {
    builder_ = trace::Builder();
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const Nanos at = static_cast<Nanos>(i) * 400;
      Mark(at, at + 100, name + std::to_string(numbers[i]));
      Mark(at + 10, at + 20, "aten::mm", SliceKind::kOp);
    }
    const Steps steps = Find();
    EXPECT_EQ(steps.steps.size(), numbers.size());
    return steps.holes.size();
  };
  EXPECT_EQ(holes({0, 10, 20, 30, 40, 49}), 0U);         // every tenth, and the last
  EXPECT_EQ(holes({32, 64, 96, 128, 160, 176}), 0U);     // samples; the last batch is smaller
  EXPECT_EQ(holes({0, 10, 20, 39, 49}), 0U);             // less than twice as far
  EXPECT_EQ(holes({0, 10, 20, 40, 50}), 1U);             // one is missing
  EXPECT_EQ(holes({3, 9, 10, 31, 40, 41, 60, 90}), 0U);  // numbers of something else
  EXPECT_EQ(holes({1, 2, 9, 10}, "ProfilerStep#"), 1U);  // calls are counted by one
  EXPECT_EQ(holes({1, 10, 20, 30}, "ProfilerStep#"), 3U);
}

TEST_F(StepHolesTest, CallsThatAreCountedAnewAreNeighboursWhereNoStepHasRoomBetween) {
  const auto holes = [&](Nanos pause) {
    builder_ = trace::Builder();
    for (int i = 0; i < 6; ++i) {
      const Nanos at = i * 100 + (i < 3 ? 0 : pause);
      Mark(at, at + 100, "ProfilerStep#" + std::to_string(i < 3 ? i + 5 : i - 3));
      Mark(at + 10, at + 20, "aten::mm", SliceKind::kOp);
    }
    return Find().holes.size();
  };
  EXPECT_EQ(holes(1), 0U);
  EXPECT_EQ(holes(99), 0U);
  EXPECT_EQ(holes(100), 1U);
}

// Six marks of 100 ns; the last goes on, and nothing is recorded in it after its first 50 ns.
TEST_F(StepHolesTest, ALastMarkIsLeftOutOnlyWhereItGoesOnForEver) {
  const auto count = [&](Nanos last, Nanos other_end) {
    builder_ = trace::Builder();
    for (int i = 0; i < 6; ++i) {
      Mark(i * 100, i * 100 + (i < 5 ? 100 : last), "ProfilerStep#" + std::to_string(i));
      Mark(i * 100 + 10, i * 100 + 60, "aten::mm", SliceKind::kOp);
    }
    if (other_end > 0) Mark(0, other_end, "train.py(3): main", SliceKind::kPython);
    return Find().steps.size();
  };
  EXPECT_EQ(count(2'000, 0), 5U);
  EXPECT_EQ(count(2'000, 2'499), 5U);
  EXPECT_EQ(count(2'000, 2'500), 6U);  // the loop goes on as long
  EXPECT_EQ(count(1'999, 0), 6U);      // a checkpoint can take that
}

}  // namespace
}  // namespace hone::analyze
