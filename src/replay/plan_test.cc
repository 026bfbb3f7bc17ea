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
