// SPDX-License-Identifier: Apache-2.0
#include "record/idle_cores.h"

#include <gtest/gtest.h>

namespace hone::record {
namespace {

constexpr std::uint64_t kTenth = 100'000'000;

// `seconds` of a machine on which so many cores idle, ten times a second.
void Pass(IdleCores& idle, double seconds, double cores, double& total, std::uint64_t& now) {
  for (int i = 0; i < static_cast<int>(seconds * 10); ++i) {
    total += cores / 10;
    idle.Note(total, now += kTenth);
  }
}

TEST(IdleCores, OneTotalTellsNothing) {
  IdleCores idle;
  EXPECT_EQ(idle.cores(), 0);
  idle.Note(1e6, kTenth);
  EXPECT_EQ(idle.cores(), 0);
}

TEST(IdleCores, FollowsTheLastSeconds) {
  IdleCores idle;
  double total = 12345;
  std::uint64_t now = kTenth;
  idle.Note(total, now);
  Pass(idle, 5, 3, total, now);
  EXPECT_NEAR(idle.cores(), 3, 0.05);
  // A program that takes all cores from now on is not called idle for what was before.
  Pass(idle, 5, 0, total, now);
  EXPECT_NEAR(idle.cores(), 0, 0.05);
}

TEST(IdleCores, AfterALongPauseOnlyThePauseCounts) {
  IdleCores idle;
  double total = 1;
  std::uint64_t now = kTenth;
  idle.Note(total, now);
  Pass(idle, 5, 2, total, now);
  idle.Note(total + 5, now + 10 * 10 * kTenth);  // half a core for ten seconds
  EXPECT_NEAR(idle.cores(), 0.5, 1e-9);
}

TEST(IdleCores, ATotalThatFallsIsNoIdling) {  // a core that was taken away takes its total along
  IdleCores idle;
  idle.Note(100, kTenth);
  idle.Note(50, 2 * kTenth);
  EXPECT_EQ(idle.cores(), 0);
}

}  // namespace
}  // namespace hone::record
