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

// Stretches of host code, one after the other: how long, and how many operators begin in it.
struct Stretch {
  Nanos length = 0;
  std::uint32_t operators = 0;
};
std::vector<Nanos> LeftOf(const std::vector<Stretch>& stretches, const std::vector<Nanos>& gone,
                          LaneKind beside = LaneKind::kThread) {
  SampleGraph sample({LaneKind::kThread, beside});
  Nanos at = 0;
  for (const Stretch& stretch : stretches) {
    const TaskId task = sample.Add(0, TaskKind::kHost, at, stretch.length);
    sample.graph().tasks[task].ops = stretch.operators;
    at += stretch.length;
  }
  const Plan before(sample.graph());
  Plan after = before;
  for (std::size_t t = 0; t < gone.size(); ++t) after.duration_ns[t] -= gone[t];
  KeepWarm(sample.graph(), before, Guess::kLikely, after);
  return after.duration_ns;
}
constexpr Nanos kMs = kMillisecond, kUs = kMicrosecond;

TEST(WarmCode, ManyOperatorsThatGetShorterLeaveNoPause) {
  EXPECT_EQ(LeftOf({{10 * kMs, 1000}}, {1000 * 5 * kUs}), std::vector<Nanos>{5 * kMs});
  const std::vector<Stretch> apart(1000, {10 * kUs, 1});
  EXPECT_EQ(LeftOf(apart, std::vector<Nanos>(1000, 5 * kUs)), std::vector<Nanos>(1000, 5 * kUs));
  // Nor where each of a few gives back more than the shortest pause.
  EXPECT_EQ(LeftOf({{10 * kMs, 1}, {10 * kMs, 1}}, {8 * kMs, 8 * kMs}),
            (std::vector<Nanos>{2 * kMs, 2 * kMs}));
}

TEST(WarmCode, OperatorsThatGoAreNotPaidFor) {
  const auto paid = [](Nanos gone) {
    const Nanos left = 2 * kMs - gone;
    return left - LeftOf({{100 * kMs, 0}, {2 * kMs, 40}}, {100 * kMs, gone})[1];
  };
  EXPECT_EQ(paid(0), 400 * kUs);
  EXPECT_EQ(paid(1 * kMs), 200 * kUs);
}

TEST(WarmCode, APauseInPiecesIsOne) {
  const Stretch code{2 * kMs, 400};
  const auto left = [&](const std::vector<Stretch>& pieces, const std::vector<Nanos>& gone) {
    return LeftOf(pieces, gone).back();
  };
  EXPECT_EQ(left({{600 * kUs, 0}, {600 * kUs, 0}, code}, {600 * kUs, 600 * kUs}),
            left({{1200 * kUs, 0}, code}, {1200 * kUs}));
  EXPECT_LT(left({{1200 * kUs, 0}, code}, {1200 * kUs}), 2 * kMs);
  EXPECT_EQ(left({{600 * kUs, 0}, {10 * kUs, 1}, {600 * kUs, 0}, code}, {600 * kUs, 0, 600 * kUs}),
            2 * kMs);
}

TEST(WarmCode, WhatIsLeftOfAPauseKeepsTheCodeCold) {
  const Stretch code{2 * kMs, 400};
  const Nanos all = LeftOf({{200 * kMs, 0}, code}, {200 * kMs})[1];
  const Nanos half = LeftOf({{200 * kMs, 0}, code}, {100 * kMs})[1];
  EXPECT_LT(all, 1200 * kUs);
  EXPECT_GT(half, 1980 * kUs);
  // And so does another one behind it.
  EXPECT_GT(LeftOf({{200 * kMs, 0}, {10 * kUs, 1}, {200 * kMs, 0}, code}, {200 * kMs})[3],
            1980 * kUs);
}

TEST(WarmCode, WithADeviceNothingWasMeasured) {
  const Stretch code{2 * kMs, 400};
  EXPECT_EQ(LeftOf({{200 * kMs, 0}, code}, {200 * kMs}, LaneKind::kStream)[1], 2 * kMs);
}

// The fix ends the window's pause, so its first code is warm too.
TEST(WarmCode, TheEndOfTheWindowComesBeforeItsBeginning) {
  const std::vector<Nanos> left = LeftOf({{1 * kMs, 400}, {100 * kMs, 0}}, {0, 100 * kMs});
  EXPECT_LT(left[0], 600 * kUs);
}

}  // namespace
}  // namespace hone::replay
