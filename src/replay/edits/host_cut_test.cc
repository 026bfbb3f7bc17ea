// SPDX-License-Identifier: Apache-2.0
#include "replay/edits/host_cut.h"

#include <gtest/gtest.h>

namespace hone::replay {
namespace {

// Lane 0: code [0, 100), a call that waits [100, 104) until 200, code [200, 300). Lane 1: a stream.
Graph Sample() {
  Graph graph;
  graph.lanes = {{LaneKind::kThread, 0, 0}, {LaneKind::kStream, 0, 0}};
  const auto add = [&](Nanos start, Nanos duration, std::uint16_t lane, TaskKind kind) {
    Task task;
    task.start_ns = start;
    task.duration_ns = duration;
    task.lane = lane;
    task.kind = kind;
    graph.tasks.push_back(task);
  };
  add(0, 100, 0, TaskKind::kHost);
  add(20, 180, 1, TaskKind::kKernel);
  add(100, 4, 0, TaskKind::kHost);
  add(200, 0, 0, TaskKind::kWait);
  add(200, 100, 0, TaskKind::kHost);
  graph.edges = {{1, false, 0}};
  graph.first_edge = {0, 0, 0, 0, 1, 1};
  graph.window = {0, 300};
  return graph;
}

TEST(HostCut, WaitingIsNoHostTime) {
  const Graph graph = Sample();
  const HostCut cut(graph, {{0, {50, 250}, 0}});
  ASSERT_EQ(cut.host_ns().size(), 1U);
  EXPECT_EQ(cut.host_ns()[0], 50 + 4 + 50);
  EXPECT_EQ(cut.gone_ns(), 104);
}

TEST(HostCut, TakesItsShareOfEveryTaskAndLeavesWaitsAndWork) {
  const Graph graph = Sample();
  Plan plan(graph);
  HostCut(graph, {{0, {50, 250}, 0}}).Apply(graph, 1.0, plan);
  EXPECT_EQ(plan.duration_ns, (std::vector<Nanos>{50, 180, 0, 0, 50}));
  EXPECT_EQ(plan.held[3], Held::kByAll);
}

TEST(HostCut, KeepsWhatItMustAndHalfAtHalfStrength) {
  const Graph graph = Sample();
  Plan keep(graph), half(graph);
  HostCut(graph, {{0, {0, 100}, 25}}).Apply(graph, 1.0, keep);
  EXPECT_EQ(keep.duration_ns[0], 25);
  HostCut(graph, {{0, {0, 100}, 0}}).Apply(graph, 0.5, half);
  EXPECT_EQ(half.duration_ns[0], 50);
  Plan share(graph);  // a share of the host's own time, waiting left out
  HostCut(graph, {{0, {50, 250}, 0, 0.4}}).Apply(graph, 1.0, share);
  EXPECT_EQ(share.duration_ns, (std::vector<Nanos>{70, 180, 2, 0, 70}));
}

TEST(HostCut, OverlappingSpansCountOnceAndKeepMoreThanThereIsChangesNothing) {
  const Graph graph = Sample();
  const HostCut cut(graph, {{0, {40, 100}, 0}, {0, {0, 60}, 0}});
  EXPECT_EQ(cut.gone_ns(), 100);
  Plan plan(graph);
  HostCut(graph, {{0, {0, 100}, 500}}).Apply(graph, 1.0, plan);
  EXPECT_EQ(plan.duration_ns[0], 100);
}

TEST(HostCut, DropsWaitsInsideOnly) {
  const Graph graph = Sample();
  Plan inside(graph), outside(graph);
  HostCut(graph, {{0, {90, 200}, 0}}).DropWaits(graph, inside);
  EXPECT_EQ(inside.held[3], Held::kByNone);
  HostCut(graph, {{0, {0, 90}, 0}}).DropWaits(graph, outside);
  EXPECT_EQ(outside.held[3], Held::kByAll);
}

TEST(HostCut, ContainsIsHalfOpenAndByLane) {
  const Graph graph = Sample();
  const HostCut cut(graph, {{0, {10, 20}, 0}});
  EXPECT_TRUE(cut.Contains(0, 10));
  EXPECT_FALSE(cut.Contains(0, 20));
  EXPECT_FALSE(cut.Contains(1, 15));
  EXPECT_FALSE(HostCut().Contains(0, 0));
}

}  // namespace
}  // namespace hone::replay
