// SPDX-License-Identifier: Apache-2.0
#include "analyze/steps_fixture_test.h"

namespace hone::analyze {
namespace {

class StepClockTest : public StepsTest {};

// Four steps of 10 µs on the host, each launching one kernel of 100 µs: the device is the clock.
TEST_F(StepClockTest, HostThatRunsAheadIsToldByTheDevice) {
  for (int i = 0; i < 4; ++i) {
    const Nanos at = 1'000'000 + i * 10'000;
    Mark(at, at + 10'000, "ProfilerStep#" + std::to_string(i));
    Launch(at + 1'000, 100 + i);
    Kernel(2'000'000 + i * 100'000, 2'000'000 + i * 100'000 + 99'000, "gemm", 7, 100 + i);
  }
  const Steps steps = Find();
  EXPECT_TRUE(steps.device_clock);
  ASSERT_EQ(steps.steps.size(), 4U);
  EXPECT_EQ(steps.steps[0].span, (trace::Interval{2'000'000, 2'099'000}));
  EXPECT_EQ(steps.steps[3].span, (trace::Interval{2'299'000, 2'399'000}));
  EXPECT_EQ(steps.steps[3].host_span, (trace::Interval{1'030'000, 1'040'000}));
  EXPECT_EQ(steps.stats->median_ns, 100'000);
  EXPECT_EQ(steps.host_window.hull(), (trace::Interval{1'000'000, 1'040'000}));
}

// The device is behind by a constant queue: marks and device agree, the marks stay.
TEST_F(StepClockTest, ConstantLagKeepsTheMarks) {
  for (int i = 0; i < 4; ++i) {
    const Nanos at = 1'000'000 + i * 100'000;
    Mark(at, at + 100'000, "ProfilerStep#" + std::to_string(i));
    Launch(at + 1'000, 100 + i);
    Kernel(2'000'000 + i * 100'000, 2'000'000 + i * 100'000 + 99'000, "gemm", 7, 100 + i);
  }
  const Steps steps = Find();
  EXPECT_FALSE(steps.device_clock);
  EXPECT_EQ(steps.steps[1].span, (trace::Interval{1'100'000, 1'200'000}));
}

// The host waits for the device in every fourth step, and runs ahead in the three before it: its
// marks are 10, 10, 10 and 370 us apart, the device takes 100 for each.
TEST_F(StepClockTest, AHostThatWaitsNowAndThenIsToldByTheDevice) {
  for (int i = 0; i < 8; ++i) {
    const Nanos cycle = 1'000'000 + i / 4 * 400'000;
    const Nanos at = cycle + i % 4 * 10'000;
    Mark(at, i % 4 == 3 ? cycle + 400'000 : at + 10'000, "ProfilerStep#" + std::to_string(i));
    Launch(at + 1'000, 100 + i);
    const Nanos start = cycle + 2'000 + i % 4 * 99'500;
    Kernel(start, start + 99'500, "gemm", 7, 100 + i);
  }
  const Steps steps = Find();
  EXPECT_TRUE(steps.device_clock);
  ASSERT_EQ(steps.steps.size(), 8U);
  EXPECT_EQ(steps.warm_up_count, 0U);
  EXPECT_EQ(steps.stats->min_ns, 99'500);
  EXPECT_EQ(steps.stats->max_ns, 101'500);  // the device stands idle until the next cycle begins
  EXPECT_EQ(steps.steady_window.hull(), (trace::Interval{1'002'000, 1'800'000}));
}

// The queue of launches has room for a step: the first takes the host 30 us, the others as long as
// the device. A first step that is short by itself stays.
TEST_F(StepClockTest, AStepThatOnlyFillsTheQueueIsWarmUp) {
  const auto warm_up = [&](bool queued) {
    builder_ = trace::Builder();
    Nanos at = 1'000'000, busy = 0;
    for (int i = 0; i < 12; ++i) {
      const Nanos length = i == 0 ? 30'000 : 100'000, work = queued || i > 0 ? 99'000 : 20'000;
      Mark(at, at + length, "ProfilerStep#" + std::to_string(i));
      Launch(at + 1'000, 100 + i);
      const Nanos start = std::max(busy, at + 2'000);
      Kernel(start, start + work, "gemm", 7, 100 + i);
      busy = start + work;
      at += length;
    }
    const Steps steps = Find();
    EXPECT_FALSE(steps.device_clock);
    return steps.warm_up_count;
  };
  EXPECT_EQ(warm_up(true), 1U);
  EXPECT_EQ(warm_up(false), 0U);
}

// The host waits in every step. One of them ends 300 us after its work, with a checkpoint: that is
// no queue, and the step is as long as its mark.
TEST_F(StepClockTest, AStallOfTheHostIsNoQueue) {
  Nanos at = 1'000'000;
  for (int i = 0; i < 8; ++i) {
    const Nanos end = at + 100'000 + (i == 4 ? 300'000 : 0);
    Mark(at, end, "ProfilerStep#" + std::to_string(i));
    Launch(at + 1'000, 100 + i);
    Kernel(at + 2'000, at + 99'000, "gemm", 7, 100 + i);
    at = end;
  }
  const Steps steps = Find();
  EXPECT_FALSE(steps.device_clock);
  EXPECT_EQ(steps.stats->max_ns, 400'000);
}

}  // namespace
}  // namespace hone::analyze
