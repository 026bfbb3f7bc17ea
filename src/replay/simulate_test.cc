// SPDX-License-Identifier: Apache-2.0
#include "replay/simulate.h"

#include "replay/replayed_test.h"
#include "replay/sample_graph_test.h"

namespace hone::replay {
namespace {

TEST(Simulate, AHostThatRunsAheadIsNoSpeed) {
  SampleGraph sample({LaneKind::kThread, LaneKind::kStream});
  const TaskId launch = sample.Add(0, TaskKind::kLaunch, 0, 5);
  sample.Add(0, TaskKind::kHost, 5, 95);
  sample.Add(1, TaskKind::kKernel, 10, 250, {{launch, true, 10}});
  const Graph& graph = sample.graph();
  EXPECT_EQ(ReplayWindow(graph, Plan(graph)), 100);  // the host's clock
  EXPECT_DOUBLE_EQ(SteadyStep(graph, Plan(graph)), 250);
}

// By the device's clock the steps begin where the work before them ended. Another stream copied for
// them before that, and the host waits for what comes after them.
TEST(Simulate, TheWindowOfADevicesClockIsThatOfItsSteps) {
  SampleGraph sample({LaneKind::kThread, LaneKind::kStream, LaneKind::kStream});
  const TaskId launch = sample.Add(0, TaskKind::kLaunch, 0, 5);
  sample.Add(2, TaskKind::kCopy, 10, 20, {{launch, true, 10}});
  sample.Add(0, TaskKind::kHost, 5, 395);
  sample.Add(1, TaskKind::kKernel, 100, 200, {{launch, true, 10}});
  Graph& graph = sample.graph();
  graph.device_clock = true;
  graph.begin_ns = graph.lanes[1].ready_ns = 100;
  EXPECT_EQ(ReplayWindow(graph, Plan(graph)), 200);
}

TEST(Simulate, ADeviceThatWaitsGainsNothingFromShorterKernels) {
  SampleGraph sample({LaneKind::kThread, LaneKind::kStream});
  const TaskId launch = sample.Add(0, TaskKind::kLaunch, 0, 5);
  sample.Add(0, TaskKind::kHost, 5, 95);
  const TaskId kernel = sample.Add(1, TaskKind::kKernel, 10, 60, {{launch, true, 10}});
  Plan plan(sample.graph());
  EXPECT_DOUBLE_EQ(SteadyStep(sample.graph(), plan), 100);
  plan.duration_ns[kernel] = 1;
  EXPECT_DOUBLE_EQ(SteadyStep(sample.graph(), plan), 100);
}

// The host works for 100, then waits for a kernel of 200 that it launched at 50, then for 20 more.
TEST(Simulate, WithoutItsWaitTheHostGoesOn) {
  SampleGraph sample({LaneKind::kThread, LaneKind::kStream});
  sample.Add(0, TaskKind::kHost, 0, 50);
  const TaskId launch = sample.Add(0, TaskKind::kLaunch, 50, 50);
  const TaskId kernel = sample.Add(1, TaskKind::kKernel, 60, 200, {{launch, true, 10}});
  const TaskId wait = sample.Add(0, TaskKind::kWait, 265, 0, {{kernel, false, 5}});
  sample.Add(0, TaskKind::kHost, 265, 20);
  const Graph& graph = sample.graph();
  Plan plan(graph);
  EXPECT_EQ(ReplayWindow(graph, plan), 285);
  EXPECT_DOUBLE_EQ(SteadyStep(graph, plan), 285);
  plan.DropWait(wait);
  EXPECT_EQ(ReplayWindow(graph, plan), 120);
  EXPECT_DOUBLE_EQ(SteadyStep(graph, plan), 200);  // now the device sets the pace
}

// Ten steps of 300 kernels of 10; the first begins with a pause of 10,000. A queue without end
// would hide all of it, one of 1,022 launches hides what the device has to do meanwhile.
TEST(Simulate, TheQueueOfAStreamHasAnEnd) {
  SampleGraph sample({LaneKind::kThread, LaneKind::kStream});
  constexpr int kSteps = 10, kKernels = 300, kPause = 10'000;
  sample.Add(0, TaskKind::kHost, 0, kPause);
  Nanos host = kPause, device = 0;
  for (int i = 0; i < kSteps * kKernels; ++i) {
    const TaskId launch = sample.Add(0, TaskKind::kLaunch, host, 2);
    device = std::max(device, host + 1);
    sample.Add(1, TaskKind::kKernel, device, 10, {{launch, true, 1}});
    host += 2;
    device += 10;
  }
  const Plan plan(sample.graph());
  // Of the pause 1,022 kernels cover 10,220: nearly nothing is left of it. Of one ten times as long
  // most is.
  EXPECT_NEAR(SteadyStep(sample.graph(), plan), kSteps * kKernels * 10, 100);
  Plan longer(sample.graph());
  longer.duration_ns[0] = 10 * kPause;
  EXPECT_NEAR(SteadyStep(sample.graph(), longer), kSteps * kKernels * 10 + 10 * kPause - 1'022 * 10,
              100);
}

// Each step: a batch of two copies, 60 and 5, then a kernel of 100, all in line: 165. One batch
// ahead the kernel hides the copies; copies that take longer than it set the pace.
TEST(Simulate, CopiesAheadRunBesideTheKernelsOfTheBatchBefore) {
  SampleGraph sample({LaneKind::kThread, LaneKind::kStream});
  std::vector<TaskId> large, small;
  for (int step = 0; step < 3; ++step) {
    const Nanos host = 15 * step, device = 10 + 165 * step;
    const TaskId first = sample.Add(0, TaskKind::kLaunch, host, 5);
    const TaskId second = sample.Add(0, TaskKind::kLaunch, host + 5, 5);
    const TaskId third = sample.Add(0, TaskKind::kLaunch, host + 10, 5);
    large.push_back(sample.Add(1, TaskKind::kCopy, device, 60, {{first, true, 10}}));
    small.push_back(sample.Add(1, TaskKind::kCopy, device + 60, 5, {{second, true, 10}}));
    sample.Add(1, TaskKind::kKernel, device + 65, 100, {{third, true, 10}});
  }
  sample.graph().steps = 3;
  Plan plan(sample.graph());
  EXPECT_DOUBLE_EQ(SteadyStep(sample.graph(), plan), 165);
  for (int step = 0; step < 3; ++step) {
    plan.SetAhead(large[step], 1);
    plan.SetAhead(small[step], 2);
  }
  EXPECT_DOUBLE_EQ(SteadyStep(sample.graph(), plan), 100);
  for (const TaskId copy : large) plan.duration_ns[copy] = 195;
  EXPECT_DOUBLE_EQ(SteadyStep(sample.graph(), plan), 200);
}

// Two devices, each with a copy of 60 and a kernel of 100 in line: 160, and one ahead 100. One
// engine for both would take 120.
TEST(Simulate, EachDeviceCopiesByItself) {
  SampleGraph sample({LaneKind::kThread, LaneKind::kStream, LaneKind::kStream});
  sample.graph().lanes[2].device = 1;
  const TaskId launch = sample.Add(0, TaskKind::kLaunch, 0, 5);
  std::vector<TaskId> copies;
  for (const std::uint16_t lane : {1, 2}) {
    copies.push_back(sample.Add(lane, TaskKind::kCopy, 10, 60, {{launch, true, 10}}));
  }
  for (const std::uint16_t lane : {1, 2}) sample.Add(lane, TaskKind::kKernel, 70, 100);
  Plan plan(sample.graph());
  EXPECT_DOUBLE_EQ(SteadyStep(sample.graph(), plan), 160);
  for (const TaskId copy : copies) plan.SetAhead(copy, 1);
  EXPECT_DOUBLE_EQ(SteadyStep(sample.graph(), plan), 100);
}

// The batch is there when the host has launched its copy, and no earlier.
TEST(Simulate, ACopyAheadWaitsForItsLaunch) {
  SampleGraph sample({LaneKind::kThread, LaneKind::kStream});
  sample.Add(0, TaskKind::kInput, 0, 300);
  const TaskId launch = sample.Add(0, TaskKind::kLaunch, 300, 5);
  const TaskId copy = sample.Add(1, TaskKind::kCopy, 310, 60, {{launch, true, 10}});
  const TaskId kernel = sample.Add(1, TaskKind::kKernel, 370, 100);
  Plan plan(sample.graph());
  plan.SetAhead(copy, 1);
  EXPECT_DOUBLE_EQ(SteadyStep(sample.graph(), plan), 305);  // the host's pace
  EXPECT_EQ(ReplayOnce(sample.graph(), plan).start_ns[copy], 310);
  EXPECT_LT(ReplayOnce(sample.graph(), plan).start_ns[kernel], 371);
}

// A collective of 200 on a stream of its own, then the copy that waited for it, then a kernel: the
// kernel waits for the collective all the same.
TEST(Simulate, WhatACopyAheadWaitedForHoldsWhatFollows) {
  SampleGraph sample({LaneKind::kThread, LaneKind::kStream, LaneKind::kStream});
  const TaskId launch = sample.Add(0, TaskKind::kLaunch, 0, 5);
  const TaskId kernel = sample.Add(1, TaskKind::kKernel, 10, 100, {{launch, true, 10}});
  const TaskId sum = sample.Add(2, TaskKind::kCollective, 110, 200, {{kernel, false, 0}});
  const TaskId copy =
      sample.Add(1, TaskKind::kCopy, 310, 20, {{launch, true, 10}, {sum, false, 0}});
  sample.Add(1, TaskKind::kKernel, 330, 50);
  Plan plan(sample.graph());
  EXPECT_DOUBLE_EQ(SteadyStep(sample.graph(), plan), 370);
  plan.SetAhead(copy, 1);
  EXPECT_DOUBLE_EQ(SteadyStep(sample.graph(), plan), 350);
}

TEST(Simulate, StepsOfAWindowShareItsLength) {
  SampleGraph sample({LaneKind::kThread});
  for (int i = 0; i < 4; ++i) sample.Add(0, TaskKind::kHost, i * 100, 100);
  sample.graph().steps = 4;
  EXPECT_DOUBLE_EQ(SteadyStep(sample.graph(), Plan(sample.graph())), 100);
}

// Loader, launches, a wait, a copy back, backward on its own thread, two streams: replayed without
// a change, every step takes what it took.
TEST(Simulate, UnchangedItReproducesTheClock) {
  TraceSketch sketch;
  MarkSteps(sketch, 5, 2000);
  for (int i = 0; i < 5; ++i) {
    const double at = 1000 + 2000 * i;
    const std::int64_t id = 10 * (i + 1);
    sketch.Annotation("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at + 5,
                      at + 205);
    sketch.Op("aten::forward", at + 220, at + 300).Launch(at + 230, id);
    sketch.Kernel(at + 240, at + 700, id).Launch(at + 250, id + 1);
    sketch.Kernel(at + 701, at + 900, id + 1);
    sketch.Op("autograd::engine", at + 320, at + 420, TraceSketch::kAutograd);
    sketch.Launch(at + 330, id + 2, TraceSketch::kAutograd).Kernel(at + 902, at + 1300, id + 2);
    sketch.Op("aten::item", at + 450, at + 1330);
    sketch.Call("cudaStreamSynchronize", at + 460, at + 1310, id + 3);
    sketch.Op("aten::step", at + 1400, at + 1990).Launch(at + 1410, id + 4);
    sketch.Kernel(at + 1420, at + 1980, id + 4, 20);
  }
  const Replayed r(std::move(sketch));
  const Graph& graph = r.graph();
  EXPECT_EQ(graph.measured_ns, 10'000 * kMicrosecond);
  EXPECT_EQ(ReplayWindow(graph, Plan(graph)), graph.measured_ns);
  const Times times = ReplayOnce(graph, Plan(graph));
  for (TaskId t = 0; t < graph.tasks.size(); ++t) {
    EXPECT_EQ(times.start_ns[t], graph.tasks[t].start_ns) << "task " << t;
  }
}

}  // namespace
}  // namespace hone::replay
