// SPDX-License-Identifier: Apache-2.0
#include "replay/plan.h"

#include <gtest/gtest.h>

#include "replay/sample_graph_test.h"

namespace hone::replay {
namespace {

// Lane 0: code [0, 100), a launch [100, 110), code [110, 210). Lane 1: a thread beside it.
SampleGraph Sample() {
  SampleGraph sample({LaneKind::kThread, LaneKind::kThread});
  sample.Add(0, TaskKind::kHost, 0, 100);
  sample.Add(1, TaskKind::kHost, 20, 60);
  sample.Add(0, TaskKind::kLaunch, 100, 10);
  sample.Add(0, TaskKind::kHost, 110, 100);
  return sample;
}

TEST(Plan, SpansOfOneEditEachTakeTheirPartOfOneTask) {
  SampleGraph sample = Sample();
  Plan plan(sample.graph());
  plan.ScaleHost(sample.graph(), 0, {0, 40}, 0);
  plan.ScaleHost(sample.graph(), 0, {60, 100}, 0.5);
  EXPECT_EQ(plan.duration_ns, (std::vector<Nanos>{40, 60, 10, 100}));
}

TEST(Plan, TheNextEditCutsWhatIsLeft) {
  SampleGraph sample = Sample();
  Plan plan(sample.graph());
  plan.ScaleHost(sample.graph(), 0, {0, 50}, 0);
  plan.BeginEdit();
  plan.ScaleHost(sample.graph(), 0, {0, 100}, 0.5);
  EXPECT_EQ(plan.duration_ns[0], 25);
}

TEST(Plan, ASpanInsideOneTaskAndOneOverSeveral) {
  SampleGraph sample = Sample();
  Plan inside(sample.graph()), over(sample.graph());
  inside.ScaleHost(sample.graph(), 0, {40, 50}, 0);
  EXPECT_EQ(inside.duration_ns, (std::vector<Nanos>{90, 60, 10, 100}));
  over.ScaleHost(sample.graph(), 0, {90, 120}, 0);
  EXPECT_EQ(over.duration_ns, (std::vector<Nanos>{90, 60, 0, 90}));
}

TEST(Plan, HostTimeIsCountedAsPlanned) {
  SampleGraph sample = Sample();
  Plan plan(sample.graph());
  EXPECT_DOUBLE_EQ(plan.HostTime(sample.graph(), 0, {50, 160}), 50 + 10 + 50);
  plan.duration_ns[0] = 20;  // the half of it that lies inside
  EXPECT_DOUBLE_EQ(plan.HostTime(sample.graph(), 0, {50, 160}), 10 + 10 + 50);
}

TEST(Plan, ALaunchGoesWithTheCodeThatLedUpToIt) {
  SampleGraph sample = Sample();
  Plan plan(sample.graph());
  plan.RemoveLaunch(sample.graph(), 2, 0.7);
  EXPECT_EQ(plan.duration_ns, (std::vector<Nanos>{30, 60, 0, 100}));
}

// Two calls in a row: the first one is no dispatch of the second.
TEST(Plan, ALaunchDoesNotTakeTheCallBeforeIt) {
  SampleGraph sample({LaneKind::kThread});
  sample.Add(0, TaskKind::kLaunch, 0, 10);
  const TaskId second = sample.Add(0, TaskKind::kLaunch, 10, 10);
  Plan plan(sample.graph());
  plan.RemoveLaunch(sample.graph(), second, 0.7);
  EXPECT_EQ(plan.duration_ns, (std::vector<Nanos>{10, 0}));
}

}  // namespace
}  // namespace hone::replay
