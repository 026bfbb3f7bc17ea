// SPDX-License-Identifier: Apache-2.0
#include "replay/critical_path.h"

#include <gtest/gtest.h>

#include <numeric>

#include "replay/sample_graph_test.h"

namespace hone::replay {
namespace {

Nanos Of(const CriticalPath& path, PathKind kind) {
  return path.total_ns[static_cast<std::size_t>(kind)];
}

// Code 100, a launch whose kernel of 200 starts 10 after it began, one of 50 queued behind it with
// 2 between them, a wait that returns 5 after that, code 30.
SampleGraph DeviceBound() {
  SampleGraph sample({LaneKind::kThread, LaneKind::kStream});
  sample.Add(0, TaskKind::kHost, 0, 100);
  const TaskId first = sample.Add(0, TaskKind::kLaunch, 100, 6);
  const TaskId second = sample.Add(0, TaskKind::kLaunch, 106, 6);
  sample.Add(1, TaskKind::kKernel, 110, 200, {{first, true, 10}});
  const TaskId last = sample.Add(1, TaskKind::kKernel, 312, 50, {{second, true, 10}}, 2);
  sample.Add(0, TaskKind::kWait, 367, 0, {{last, false, 5}});
  sample.Add(0, TaskKind::kHost, 367, 30);
  return sample;
}

TEST(CriticalPath, FollowsWhatCameLast) {
  SampleGraph sample = DeviceBound();
  const CriticalPath path = FindCriticalPath(sample.graph(), Plan(sample.graph()));
  EXPECT_EQ(Of(path, PathKind::kHost), 130);
  EXPECT_EQ(Of(path, PathKind::kLaunch), 10);  // the latency; the call itself runs beside it
  EXPECT_EQ(Of(path, PathKind::kCompute), 250);
  EXPECT_EQ(Of(path, PathKind::kDeviceOverhead), 2);
  EXPECT_EQ(Of(path, PathKind::kSync), 5);
  EXPECT_EQ(path.length_ns, 397);  // the whole window
  EXPECT_EQ(std::accumulate(path.total_ns.begin(), path.total_ns.end(), Nanos{0}), path.length_ns);
  ASSERT_FALSE(path.pieces.empty());
  EXPECT_EQ(path.pieces.front().task, 0U);
  EXPECT_EQ(path.pieces.back().task, 6U);
}

TEST(CriticalPath, WithoutTheWaitTheHostIsNotOnIt) {
  SampleGraph sample = DeviceBound();
  Plan plan(sample.graph());
  plan.DropWait(5);
  const CriticalPath path = FindCriticalPath(sample.graph(), plan);
  EXPECT_EQ(path.pieces.back().task, 4U);  // the window ends with the device
  EXPECT_EQ(Of(path, PathKind::kSync), 0);
  EXPECT_EQ(path.length_ns, 362);
}

TEST(CriticalPath, WorkThatIsHiddenIsNotOnIt) {
  SampleGraph sample({LaneKind::kThread, LaneKind::kStream, LaneKind::kStream});
  const TaskId launch = sample.Add(0, TaskKind::kLaunch, 0, 5);
  sample.Add(1, TaskKind::kKernel, 5, 300, {{launch, true, 5}});
  sample.Add(2, TaskKind::kCollective, 6, 200, {{launch, true, 6}});
  const CriticalPath path = FindCriticalPath(sample.graph(), Plan(sample.graph()));
  EXPECT_EQ(Of(path, PathKind::kCommunication), 0);
  EXPECT_EQ(Of(path, PathKind::kCompute), 300);
  EXPECT_EQ(path.length_ns, 305);
}

TEST(CriticalPath, OfNothingIsEmpty) {
  EXPECT_EQ(FindCriticalPath(Graph(), Plan(Graph())).length_ns, 0);
}

}  // namespace
}  // namespace hone::replay
