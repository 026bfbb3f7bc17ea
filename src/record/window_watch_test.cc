// SPDX-License-Identifier: Apache-2.0
#include "record/window_watch.h"

#include <gtest/gtest.h>

namespace hone::record {
namespace {

using wire::ProcessState;
using namespace std::chrono_literals;

SlotView Slot(std::uint32_t pid, ProcessState state, std::uint32_t steps, std::uint32_t window = 1,
              bool alive = true) {
  SlotView slot;
  slot.pid = pid;
  slot.state = state;
  slot.steps = steps;
  slot.window = window;
  slot.alive = alive && state != ProcessState::kEnded;
  return slot;
}

class WindowWatchTest : public ::testing::Test {
 protected:
  void Look(const std::vector<SlotView>& slots) { watch_.Look(slots, now_ += 100ms); }
  WindowWatch watch_;
  WindowWatch::Time now_ = WindowWatch::Time() + 1h;
};

TEST_F(WindowWatchTest, OneProcess) {
  Look({});
  EXPECT_FALSE(watch_.recording());
  EXPECT_FALSE(watch_.settled());
  Look({Slot(1, ProcessState::kStepping, 12)});
  EXPECT_TRUE(watch_.recording());
  EXPECT_EQ(watch_.status().steps, 12U);
  EXPECT_EQ(watch_.closed_window(), 0U);
  Look({Slot(1, ProcessState::kClosed, 30)});
  EXPECT_EQ(watch_.closed_window(), 1U);
  EXPECT_EQ(watch_.closing().steps, 30U);
  EXPECT_TRUE(watch_.settled());
}

TEST_F(WindowWatchTest, TrainersThatStartAgainCountOn) {
  Look({Slot(1, ProcessState::kClosed, 30, 3), Slot(2, ProcessState::kClosed, 30, 3)});
  EXPECT_EQ(watch_.closed_window(), 3U);
  // The restart: one was killed in its fourth window. The new ones need not start together.
  const SlotView ended = Slot(1, ProcessState::kEnded, 12, 4);
  const SlotView killed = Slot(2, ProcessState::kStepping, 12, 4, false);
  Look({ended, killed, Slot(3, ProcessState::kFollowing, 0, 0)});
  const SlotView reaped = Slot(2, ProcessState::kEnded, 12, 4);
  Look({ended, reaped, Slot(3, ProcessState::kStepping, 1),
        Slot(4, ProcessState::kFollowing, 0, 0)});
  EXPECT_EQ(watch_.closed_window(), 3U);
  EXPECT_EQ(watch_.status().window, 4U);
  Look({ended, reaped, Slot(3, ProcessState::kStepping, 9), Slot(4, ProcessState::kStepping, 1)});
  EXPECT_EQ(watch_.status().window, 4U);
  Look({ended, reaped, Slot(3, ProcessState::kClosed, 30), Slot(4, ProcessState::kStepping, 29)});
  EXPECT_EQ(watch_.closed_window(), 3U);
  Look({ended, reaped, Slot(3, ProcessState::kClosed, 30), Slot(4, ProcessState::kClosed, 30)});
  EXPECT_EQ(watch_.closed_window(), 4U);
  Look({ended, reaped, Slot(3, ProcessState::kClosed, 30, 2),
        Slot(4, ProcessState::kClosed, 30, 2)});
  EXPECT_EQ(watch_.closed_window(), 5U);
}

// One that only joins (an evaluation beside the training) is no restart: its windows are not new.
TEST_F(WindowWatchTest, WhoStartsBesideATrainerCountsWithIt) {
  Look({Slot(1, ProcessState::kClosed, 30, 3)});
  Look({Slot(1, ProcessState::kClosed, 30, 3), Slot(2, ProcessState::kStepping, 5)});
  Look({Slot(1, ProcessState::kClosed, 30, 3), Slot(2, ProcessState::kClosed, 30)});
  EXPECT_EQ(watch_.closed_window(), 3U);
}

TEST_F(WindowWatchTest, WhatFollowsTheLastStepIsTimedFirst) {
  Look({Slot(1, ProcessState::kTiming, 30), Slot(2, ProcessState::kClosed, 0)});
  EXPECT_TRUE(watch_.recording());
  EXPECT_EQ(watch_.status().steps, 30U);
  EXPECT_EQ(watch_.closed_window(), 0U);
  Look({Slot(1, ProcessState::kTiming, 30), Slot(2, ProcessState::kClosed, 30)});
  EXPECT_EQ(watch_.closed_window(), 0U);
  Look({Slot(1, ProcessState::kClosed, 30), Slot(2, ProcessState::kClosed, 30)});
  EXPECT_EQ(watch_.closed_window(), 1U);
}

// The launcher of the ranks closed with them; that the ranks ended while they were timed does not
// mean that nobody made a step.
TEST_F(WindowWatchTest, RanksThatEndWhileTheyAreTimedHaveStepped) {
  Look({Slot(1, ProcessState::kClosed, 0, 0), Slot(2, ProcessState::kTiming, 30)});
  EXPECT_FALSE(watch_.awaits_step());
  Look({Slot(1, ProcessState::kClosed, 0, 0), Slot(2, ProcessState::kEnded, 30)});
  EXPECT_FALSE(watch_.awaits_step());
  Look({Slot(1, ProcessState::kClosed, 0, 0), Slot(2, ProcessState::kTiming, 30, 1, false)});
  EXPECT_FALSE(watch_.awaits_step());
}

TEST_F(WindowWatchTest, TheSlowestRankDecides) {
  Look({Slot(1, ProcessState::kClosed, 30), Slot(2, ProcessState::kStepping, 28)});
  EXPECT_EQ(watch_.closed_window(), 0U);
  EXPECT_EQ(watch_.status().steps, 28U);
  // A rank that is killed holds nobody up.
  Look({Slot(1, ProcessState::kClosed, 30), Slot(2, ProcessState::kStepping, 28, 1, false)});
  EXPECT_EQ(watch_.closed_window(), 1U);
  EXPECT_EQ(watch_.closing().steps, 28U);
}

TEST_F(WindowWatchTest, FollowersGetTimeButNotForEver) {
  const std::vector<SlotView> slots = {Slot(1, ProcessState::kClosed, 30),
                                       Slot(2, ProcessState::kFollowing, 0)};
  Look(slots);
  EXPECT_EQ(watch_.closed_window(), 0U);
  EXPECT_TRUE(watch_.closing_now());
  for (int i = 0; i < 25; ++i) Look(slots);
  EXPECT_EQ(watch_.closed_window(), 1U);
  EXPECT_FALSE(watch_.settled());  // it may heed the page yet
  for (int i = 0; i < 60; ++i) Look(slots);
  EXPECT_TRUE(watch_.settled());
}

TEST_F(WindowWatchTest, AProcessThatEndsClosesNothing) {
  Look({Slot(1, ProcessState::kEnded, 5)});
  EXPECT_EQ(watch_.closed_window(), 0U);
  EXPECT_FALSE(watch_.settled());
  EXPECT_EQ(watch_.closing().steps, 5U);
  // Shells and compilers that ended without a step are not the least of all.
  Look({Slot(1, ProcessState::kEnded, 0), Slot(2, ProcessState::kClosed, 30)});
  EXPECT_EQ(watch_.closed_window(), 1U);
  EXPECT_EQ(watch_.closing().steps, 30U);
  EXPECT_EQ(watch_.closing().processes, 2U);
}

// Its loader workers write out what they have meanwhile.
TEST_F(WindowWatchTest, OneThatClosesItsWindowAndEndsHasClosedIt) {
  Look({Slot(1, ProcessState::kClosed, 30), Slot(2, ProcessState::kFollowing, 0, 0)});
  EXPECT_TRUE(watch_.closing_now());
  Look({Slot(1, ProcessState::kEnded, 30), Slot(2, ProcessState::kClosed, 0, 0)});
  EXPECT_EQ(watch_.closed_window(), 1U);
  EXPECT_TRUE(watch_.settled());
}

TEST_F(WindowWatchTest, WindowsComeAgain) {
  Look({Slot(1, ProcessState::kClosed, 30, 1)});
  Look({Slot(1, ProcessState::kStepping, 3, 2)});
  EXPECT_EQ(watch_.closed_window(), 1U);
  EXPECT_FALSE(watch_.settled());
  EXPECT_EQ(watch_.status().window, 2U);
  Look({Slot(1, ProcessState::kClosed, 30, 2)});
  EXPECT_EQ(watch_.closed_window(), 2U);
}

// Window 0: it comes back with the first step.
TEST_F(WindowWatchTest, AProgramWithoutAStepIsToldAndAwaited) {
  Look({Slot(1, ProcessState::kClosed, 0, 0), Slot(2, ProcessState::kFollowing, 0, 0)});
  EXPECT_FALSE(watch_.awaits_step()) << "the other one may be the one that steps";
  Look({Slot(1, ProcessState::kClosed, 0, 0), Slot(2, ProcessState::kClosed, 12, 0)});
  EXPECT_TRUE(watch_.awaits_step());
  EXPECT_EQ(watch_.closed_window(), 0U);
  EXPECT_FALSE(watch_.settled());
  Look({Slot(1, ProcessState::kClosed, 0, 0), Slot(2, ProcessState::kStepping, 1, 2)});
  EXPECT_FALSE(watch_.awaits_step());
  Look({Slot(1, ProcessState::kClosed, 0, 0), Slot(2, ProcessState::kClosed, 30, 2)});
  EXPECT_FALSE(watch_.awaits_step());
  EXPECT_EQ(watch_.closed_window(), 2U);
  EXPECT_TRUE(watch_.settled());
}

}  // namespace
}  // namespace hone::record
