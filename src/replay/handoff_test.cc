// SPDX-License-Identifier: Apache-2.0
#include "replay/handoff.h"

#include <gtest/gtest.h>

namespace hone::replay {
namespace {

using Activities = std::vector<std::vector<trace::Interval>>;

TEST(Handoff, ForwardToBackwardAndBack) {
  const Activities activities = {{{0, 100}, {400, 500}}, {{120, 380}}};
  const auto found = FindHandoffs(activities, 0);
  ASSERT_EQ(found[0].size(), 1U);
  EXPECT_EQ(found[0][0].from, 1);
  EXPECT_EQ(found[0][0].idle_from_ns, 100);
  EXPECT_EQ(found[0][0].released_ns, 380);
  EXPECT_EQ(found[0][0].resume_ns, 400);
  ASSERT_EQ(found[1].size(), 1U);
  EXPECT_EQ(found[1][0].from, 0);
  EXPECT_EQ(found[1][0].released_ns, 100);
  EXPECT_EQ(found[1][0].resume_ns, 120);
}

TEST(Handoff, OneThatGoesOnWorkingHandsNothingOver) {
  const Activities activities = {{{0, 100}, {400, 500}}, {{120, 450}}};
  EXPECT_TRUE(FindHandoffs(activities, 0)[0].empty());
}

TEST(Handoff, OneThatWorkedBeforeThePauseBeganHandsNothingOver) {
  const Activities activities = {{{0, 100}, {400, 500}}, {{50, 300}}};
  EXPECT_TRUE(FindHandoffs(activities, 0)[0].empty());
}

TEST(Handoff, OfSeveralThreadsTheOneThatFinishedLast) {
  const Activities activities = {{{0, 100}, {400, 500}}, {{120, 200}}, {{130, 390}}};
  const auto found = FindHandoffs(activities, 0);
  ASSERT_EQ(found[0].size(), 1U);
  EXPECT_EQ(found[0][0].from, 2);
  EXPECT_EQ(found[0][0].released_ns, 390);
}

TEST(Handoff, BeforeTheFirstActivityThePauseBeginsWithTheWindow) {
  const Activities activities = {{{300, 400}}, {{20, 90}}};
  const auto found = FindHandoffs(activities, 10);
  ASSERT_EQ(found[0].size(), 1U);
  EXPECT_EQ(found[0][0].idle_from_ns, 10);
  EXPECT_EQ(found[0][0].released_ns, 90);
  // What the other did before the window is not seen.
  EXPECT_TRUE(FindHandoffs(activities, 50)[0].empty());
}

TEST(Handoff, OneThreadAloneNever) {
  EXPECT_TRUE(FindHandoffs({{{0, 100}, {400, 500}}}, 0)[0].empty());
}

}  // namespace
}  // namespace hone::replay
