// SPDX-License-Identifier: Apache-2.0
#include "collect/bare_steps.h"

#include <gtest/gtest.h>

namespace hone::collect {
namespace {

constexpr std::uint64_t kMs = 1'000'000;

// Feeds steps of equal length until it is done, looking after each.
std::uint64_t TimeSteps(BareSteps& bare, std::uint64_t now, std::uint64_t step_ns) {
  while (!bare.Done(now)) {
    now += step_ns;
    bare.Step(now);
  }
  return now;
}

TEST(BareSteps, ShortStepsAreTimedForHalfASecond) {
  BareSteps bare;
  bare.Begin(7 * kMs, 12 * kMs);
  bare.Step(40 * kMs);  // the first three may take what they like
  bare.Step(41 * kMs);
  bare.Step(90 * kMs);
  EXPECT_EQ(bare.steps(), 0u);
  EXPECT_EQ(TimeSteps(bare, 90 * kMs, 10 * kMs), 590 * kMs);
  EXPECT_EQ(bare.steps(), 50u);
  EXPECT_EQ(bare.step_ns(), 10 * kMs);
  EXPECT_EQ(bare.recorded_ns(), 12 * kMs);
}

TEST(BareSteps, LongStepsAreFewer) {
  BareSteps bare;
  bare.Begin(0, 200 * kMs);
  TimeSteps(bare, 0, 180 * kMs);
  EXPECT_EQ(bare.steps(), 10u);
  bare.Begin(0, 600 * kMs);
  TimeSteps(bare, 0, 600 * kMs);
  EXPECT_EQ(bare.steps(), 4u);  // three to settle, then the end of patience
}

TEST(BareSteps, StepsOfSecondsAreNotWaitedFor) {
  BareSteps bare;
  bare.Begin(0, 1500 * kMs);
  EXPECT_LE(TimeSteps(bare, 0, 1500 * kMs), 5000 * kMs);
  EXPECT_EQ(bare.steps(), 0u);
}

TEST(BareSteps, AProgramThatStopsIsNotWaitedFor) {
  BareSteps bare;
  bare.Begin(0, 10 * kMs);
  EXPECT_FALSE(bare.Done(500 * kMs));
  EXPECT_TRUE(bare.Done(550 * kMs));
  bare.Begin(0, 10 * kMs);
  for (std::uint64_t i = 1; i <= 8; ++i) bare.Step(i * 10 * kMs);
  EXPECT_FALSE(bare.Done(600 * kMs));
  EXPECT_TRUE(bare.Done(640 * kMs));
  EXPECT_EQ(bare.steps(), 5u);  // what was seen is worth telling
}

TEST(BareSteps, NothingCountsBeforeItBegins) {
  BareSteps bare;
  for (std::uint64_t i = 1; i < 9; ++i) bare.Step(i * kMs);
  EXPECT_EQ(bare.steps(), 0u);
  EXPECT_FALSE(bare.timing());
}

}  // namespace
}  // namespace hone::collect
