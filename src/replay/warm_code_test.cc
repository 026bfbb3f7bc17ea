// SPDX-License-Identifier: Apache-2.0
#include "replay/warm_code.h"

#include <gtest/gtest.h>

#include "replay/sample_graph_test.h"

namespace hone::replay {
namespace {

// Two steps: code of `pause` ms that a fix takes away, then 2 ms of code in two parts. Returns what
// is left of the four parts.
std::vector<Nanos> Left(double pause_ms, Guess guess, bool removed = true,
                        std::uint32_t operators = 400) {
  SampleGraph sample({LaneKind::kThread});
  const auto pause = static_cast<Nanos>(pause_ms * kMillisecond);
  Nanos at = 0;
  for (int step = 0; step < 2; ++step) {
    for (const Nanos length : {pause, kMillisecond, kMillisecond}) {
      const TaskId task = sample.Add(0, TaskKind::kHost, at, length);
      sample.graph().tasks[task].ops = length == pause ? 0 : operators;
      at += length;
    }
  }
  const Plan before(sample.graph());
  Plan after = before;
  if (removed) after.duration_ns[0] = after.duration_ns[3] = 0;
  KeepWarm(sample.graph(), before, guess, after);
  const std::vector<Nanos>& left = after.duration_ns;
  return {left[1], left[2], left[4], left[5]};
}

TEST(WarmCode, WhatCameAfterALongPauseWasCold) {
  const std::vector<Nanos> left = Left(100, Guess::kLikely);
  EXPECT_NEAR(left[0], 470'000, 20'000);
  EXPECT_GT(left[1], left[0] + 100'000);  // by then most was warm again
  EXPECT_LT(left[1], 900'000);
  EXPECT_NEAR(left[2], left[0], 1);
  EXPECT_LT(Left(100, Guess::kMost)[0], left[0]);
}

// Of 2 ms, those that were measured behind pauses of 5 and 20 ms paid 0.1 to 0.2 and 0.5 to 0.8.
TEST(WarmCode, AShortPauseCostsLittle) {
  const auto paid = [](double pause) {
    const std::vector<Nanos> left = Left(pause, Guess::kLikely);
    return 2 * kMillisecond - left[0] - left[1];
  };
  EXPECT_LT(paid(1), 10'000);
  EXPECT_NEAR(paid(5), 120'000, 60'000);
  EXPECT_NEAR(paid(20), 650'000, 150'000);
}

TEST(WarmCode, APauseThatStaysKeepsItsCold) {
  const std::vector<Nanos> all(4, kMillisecond);
  EXPECT_EQ(Left(100, Guess::kLikely, false), all);
  EXPECT_EQ(Left(100, Guess::kLeast), all);
}

TEST(WarmCode, WhatOperatorsComputeStays) {
  EXPECT_EQ(Left(100, Guess::kLikely, true, 10)[0], kMillisecond - 100'000);
}

// The fix ends the window's pause, so its first code is warm too.
TEST(WarmCode, TheEndOfTheWindowComesBeforeItsBeginning) {
  SampleGraph sample({LaneKind::kThread, LaneKind::kStream});
  const TaskId code = sample.Add(0, TaskKind::kHost, 0, kMillisecond);
  sample.graph().tasks[code].ops = 400;
  const TaskId kernel = sample.Add(1, TaskKind::kKernel, kMillisecond, kMillisecond);
  const TaskId pause = sample.Add(0, TaskKind::kHost, kMillisecond, 100 * kMillisecond);
  const Plan before(sample.graph());
  Plan after = before;
  after.duration_ns[pause] = 0;
  KeepWarm(sample.graph(), before, Guess::kLikely, after);
  EXPECT_LT(after.duration_ns[code], 600'000);
  EXPECT_EQ(after.duration_ns[kernel], kMillisecond);
}

}  // namespace
}  // namespace hone::replay
