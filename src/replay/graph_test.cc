// SPDX-License-Identifier: Apache-2.0
#include "replay/graph.h"

#include "replay/replayed_test.h"
#include "replay/simulate.h"

namespace hone::replay {
namespace {

constexpr Nanos kUs = kMicrosecond;

// One step of 1 ms from 1000 us on.
TraceSketch OneStep() {
  TraceSketch sketch;
  MarkSteps(sketch, 1, 1000);
  return sketch;
}

TEST(Graph, WorkWaitsForItsCallAsLongAsMeasured) {
  TraceSketch sketch = OneStep();
  sketch.Launch(1020, 1).Kernel(1032, 1100, 1, 7, "first");
  const Replayed r(std::move(sketch));
  const TaskId work = r.Kernel("first");
  ASSERT_NE(work, kNoTask);
  const auto edges = r.graph().EdgesOf(work);
  ASSERT_EQ(edges.size(), 1U);
  EXPECT_EQ(r.At(edges[0].from).kind, TaskKind::kLaunch);
  EXPECT_TRUE(edges[0].from_start);
  EXPECT_EQ(edges[0].lag_ns, 12 * kUs);
}

// Nothing else parts a CPU's steps: what comes after a pause must not be mixed with what came
// before.
TEST(Graph, WithoutADeviceStepsAndLongPausesPartTheCode) {
  TraceSketch sketch;
  MarkSteps(sketch, 2, 10'000);
  for (const double at : {1000, 11'000}) {
    sketch.Op("aten::add", at + 100, at + 500).Op("aten::mul", at + 700, at + 900);
    sketch.Op("aten::relu", at + 5000, at + 9500);  // 4.1 ms after it
  }
  const Replayed r(std::move(sketch));
  ASSERT_TRUE(r.built()) << r.why_not();
  std::vector<Nanos> lengths;
  for (const Task& task : r.graph().tasks) lengths.push_back(task.duration_ns / kUs);
  EXPECT_EQ(lengths, (std::vector<Nanos>{900, 4100, 5000, 900, 4100, 5000}));
  EXPECT_EQ(r.graph().tasks[0].ops, 2u);
  EXPECT_EQ(r.graph().tasks[1].ops, 0u);
}

TEST(Graph, PausesAtTheEndsOfTheWindowAreTasksToo) {
  TraceSketch sketch;
  MarkSteps(sketch, 1, 10'000);
  sketch.Op("aten::add", 3000, 4000).Op("aten::mul", 4100, 6000);
  const Replayed r(std::move(sketch));
  ASSERT_TRUE(r.built()) << r.why_not();
  std::vector<Nanos> lengths;
  std::vector<std::uint32_t> operators;
  for (const Task& task : r.graph().tasks) {
    lengths.push_back(task.duration_ns / kUs);
    operators.push_back(task.ops);
  }
  EXPECT_EQ(lengths, (std::vector<Nanos>{2000, 3000, 5000}));
  EXPECT_EQ(operators, (std::vector<std::uint32_t>{0, 2, 0}));
}

// Lane 0 stands for no thread then.
TEST(Graph, ATraceOfDeviceRecordsOnlyHasNobodyWhoWantsACore) {
  TraceSketch sketch;
  for (int step = 0; step < 6; ++step) {
    int k = 0;
    for (const char* name : {"a", "b", "c", "d", "e"}) {
      const double start = 1000 + 100 * step + 20 * k++;
      sketch.Kernel(start, start + 15, 0, 7, name);
    }
  }
  const Replayed r(std::move(sketch));
  ASSERT_TRUE(r.built()) << r.why_not();
  ASSERT_TRUE(r.trace().threads.empty());
  EXPECT_FALSE(r.model().StepDemand());
}

// The second was launched long before the first ended: the queue decides when it starts, and the
// launch edge must not.
TEST(Graph, QueuedWorkFollowsTheOneBeforeIt) {
  TraceSketch sketch = OneStep();
  sketch.Launch(1020, 1).Kernel(1032, 1100, 1, 7, "first");
  sketch.Launch(1030, 2).Kernel(1103, 1200, 2, 7, "second");
  const Replayed r(std::move(sketch));
  const TaskId second = r.Kernel("second");
  EXPECT_EQ(r.graph().before[second], r.Kernel("first"));
  EXPECT_EQ(r.At(second).lag_ns, 3 * kUs);
  ASSERT_EQ(r.graph().EdgesOf(second).size(), 1U);
  EXPECT_LT(r.graph().EdgesOf(second)[0].lag_ns, 1103 * kUs - 1030 * kUs);
}

TEST(Graph, AWaitEndsWhenTheWorkDoes) {
  TraceSketch sketch = OneStep();
  sketch.Launch(1020, 1).Kernel(1032, 1300, 1, 7, "work");
  sketch.Call("cudaDeviceSynchronize", 1050, 1308, 2);
  const Replayed r(std::move(sketch));
  const TaskId end = r.Starting(0, 1308);
  ASSERT_NE(end, kNoTask);
  EXPECT_EQ(r.At(end).kind, TaskKind::kWait);
  EXPECT_EQ(r.At(end).duration_ns, 0);
  ASSERT_EQ(r.graph().EdgesOf(end).size(), 1U);
  EXPECT_EQ(r.graph().EdgesOf(end)[0].from, r.Kernel("work"));
  EXPECT_EQ(r.graph().EdgesOf(end)[0].lag_ns, 8 * kUs);
  // Of the call nothing is left but what it costs when there is nothing to wait for.
  EXPECT_LE(r.At(r.Starting(0, 1050)).duration_ns, 5 * kUs);
}

// `queued` kernels of 20 us each, launched faster than they run; then a launch that takes 30 us.
Nanos LastLaunchTakes(int queued) {
  TraceSketch sketch;
  MarkSteps(sketch, 1, 40'000);
  for (int i = 0; i < queued; ++i) {
    sketch.Launch(1010 + 6 * i, i + 1);
    sketch.Kernel(1020 + 20 * i, 1040 + 20 * i, i + 1);
  }
  const double last = 1010 + 6 * queued;
  sketch.Call("cudaLaunchKernel", last, last + 30, queued + 1);
  sketch.Kernel(1020 + 20 * queued, 1040 + 20 * queued, queued + 1);
  const Replayed r(std::move(sketch));
  return r.At(r.Starting(0, last)).duration_ns;
}

TEST(Graph, ALaunchWaitsForRoomInAFullQueue) {
  EXPECT_EQ(LastLaunchTakes(100), 30 * kUs);  // a slow call
  EXPECT_LE(LastLaunchTakes(1500), 5 * kUs);  // 450 have ended, the last of them while it lasted
}

// Work of another stream ends while a launch of 300 us lasts; `queued`: some of its own waits.
Replayed LaunchBesideAnotherStream(bool queued) {
  TraceSketch sketch = OneStep();
  sketch.Launch(1020, 1).Kernel(1030, 1200, 1, 7, "other");
  sketch.Launch(1030, 2).Kernel(queued ? 1210 : 1040, queued ? 1220 : 1050, 2, 20, "own");
  sketch.Call("cudaLaunchKernel", 1060, 1205, 3).Kernel(1230, 1240, 3, 20, "launched");
  return Replayed(std::move(sketch));
}

TEST(Graph, AQueueHoldsWaitsForOtherStreamsToo) {
  const Replayed held = LaunchBesideAnotherStream(true);
  EXPECT_LE(held.At(held.Starting(0, 1060)).duration_ns, 5 * kUs);
  const TaskId end = held.Starting(0, 1205);
  ASSERT_NE(end, kNoTask);
  ASSERT_EQ(held.graph().EdgesOf(end).size(), 1U);
  EXPECT_EQ(held.graph().EdgesOf(end)[0].from, held.Kernel("other"));
  const Replayed slow = LaunchBesideAnotherStream(false);
  EXPECT_EQ(slow.At(slow.Starting(0, 1060)).duration_ns, 145 * kUs) << "nothing was in its queue";
}

// Steps of 1 ms; in the first a launch of 900 us, before any work that the trace has ran. `first`:
// its own work is the first of all.
Replayed LaunchBeforeAllWork(bool first) {
  TraceSketch sketch;
  MarkSteps(sketch, 4, 1000);
  sketch.Launch(1010, 1).Kernel(first ? 2060 : 1960, first ? 2090 : 1980, 1, 7, "earlier");
  sketch.Call("cudaLaunchKernel", 1050, 1950, 2);
  sketch.Kernel(first ? 1955 : 1990, first ? 2050 : 2050, 2, 7, "held");
  for (int i = 1; i < 4; ++i) {
    const double at = 1000 + 1000 * i;
    sketch.Launch(at + 100, 2 * i + 1).Kernel(at + 110, at + 200, 2 * i + 1);
  }
  return Replayed(std::move(sketch));
}

TEST(Graph, WorkThatTheTraceDoesNotHaveHoldsALaunchOnce) {
  const Replayed r = LaunchBeforeAllWork(false);
  EXPECT_LE(r.At(r.Starting(0, 1050)).duration_ns, 5 * kUs);
  const TaskId end = r.Starting(0, 1950);
  ASSERT_NE(end, kNoTask);
  ASSERT_EQ(r.graph().EdgesOf(end).size(), 1U);
  EXPECT_EQ(r.graph().EdgesOf(end)[0].laps, kUnseenLap);
  const Plan plan(r.graph());
  EXPECT_EQ(ReplayWindow(r.graph(), plan), 4000 * kUs) << "as recorded";
  EXPECT_NEAR(SteadyStep(r.graph(), plan), 1e3 * (4000 - 900) / 4, 2e3) << "never again";
}

TEST(Graph, ALaunchWhoseWorkRunsAtOnceIsASlowCall) {
  const Replayed r = LaunchBeforeAllWork(true);
  EXPECT_EQ(r.At(r.Starting(0, 1050)).duration_ns, 900 * kUs);
}

// Steps of 1 ms that wait for the work of the step before: 895 us of kernel, and 105 of host.
// What the first one waits for was launched before recording began.
Replayed AStepBehind() {
  TraceSketch sketch;
  MarkSteps(sketch, 4, 1000);
  sketch.Kernel(1005, 1900, 0, 7, "before");
  for (int i = 0; i < 4; ++i) {
    const double at = 1000 + 1000 * i;
    sketch.Call("cudaStreamSynchronize", at + 10, at + 905, 2 * i + 1);
    sketch.Launch(at + 950, 2 * i + 2).Kernel(at + 1005, at + 1900, 2 * i + 2);
  }
  return Replayed(std::move(sketch));
}

TEST(Graph, AWaitForWorkOfBeforeIsAWaitForItsRepetition) {
  const Replayed r = AStepBehind();
  const TaskId end = r.Starting(0, 1905);
  ASSERT_NE(end, kNoTask);
  EXPECT_EQ(r.At(end).kind, TaskKind::kWait);
  EXPECT_EQ(r.graph().laps, 1);
  Plan plan(r.graph());
  EXPECT_NEAR(SteadyStep(r.graph(), plan), 1e6, 1e4);
  for (TaskId t = 0; t < r.graph().tasks.size(); ++t) {
    if (r.At(t).kind == TaskKind::kKernel) plan.duration_ns[t] /= 3;
  }
  EXPECT_NEAR(SteadyStep(r.graph(), plan), 1e3 * (895.0 / 3 + 105), 2e4);
}

TEST(Graph, ACallThatFoundNothingToWaitForKeepsItsTime) {
  TraceSketch sketch = OneStep();
  sketch.Launch(1020, 1).Kernel(1032, 1100, 1, 7, "work");
  sketch.Call("cudaDeviceSynchronize", 1200, 1230, 2);
  const Replayed r(std::move(sketch));
  EXPECT_EQ(r.At(r.Starting(0, 1200)).duration_ns, 30 * kUs);
}

// Launched at 1040 on an idle stream and started at 1301, right after another stream's work.
TEST(Graph, AnEventBetweenStreamsIsInferredFromTheStart) {
  TraceSketch sketch = OneStep();
  sketch.Launch(1020, 1).Kernel(1032, 1300, 1, 7, "source");
  sketch.Launch(1040, 2).Kernel(1301, 1400, 2, 20, "waits");
  const Replayed r(std::move(sketch));
  const TaskId waits = r.Kernel("waits");
  const auto edges = r.graph().EdgesOf(waits);
  ASSERT_EQ(edges.size(), 2U);
  const Edge& event = edges[0].from == r.Kernel("source") ? edges[0] : edges[1];
  EXPECT_EQ(event.from, r.Kernel("source"));
  EXPECT_FALSE(event.from_start);
  EXPECT_EQ(event.lag_ns, 1 * kUs);
}

// Kernels of 100 us on two streams in turns, all of them launched at once: each begins when the one
// of the other stream has ended, or a moment earlier, by rounded times.
TEST(Graph, StreamsThatTakeTurnsWaitForEachOther) {
  TraceSketch sketch;
  MarkSteps(sketch, 2, 2000);
  for (int step = 0; step < 2; ++step) {
    const double begin = 1000 + 2000 * step;
    for (int i = 0; i < 16; ++i) {
      const int id = 1 + 16 * step + i;
      const double start = begin + 20 + 100 * i;
      sketch.Launch(begin + 6 * i, id);
      sketch.Kernel(start, start + (i % 3 == 0 ? 101 : 100), id, i % 2 == 0 ? 7 : 13);
    }
    sketch.Call("cudaDeviceSynchronize", begin + 110, begin + 1630, 100 + step);
  }
  const Replayed r(std::move(sketch));
  EXPECT_LE(r.graph().turnaround_ns, 5 * kUs);
  Plan plan(r.graph());
  const double as_recorded = SteadyStep(r.graph(), plan);
  for (TaskId t = 0; t < r.graph().tasks.size(); ++t) {
    if (r.At(t).kind == TaskKind::kKernel) plan.duration_ns[t] *= 4;
  }
  EXPECT_NEAR(SteadyStep(r.graph(), plan) - as_recorded, 3 * 1600e3, 60e3);
}

// It begins a moment before the work of the other stream ends: rounded times say so of what waited
// for it, exact ones of what did not.
TEST(Graph, WorkThatHasNotEndedIsNoEvent) {
  const auto waits_for = [](double start) {
    TraceSketch sketch = OneStep();
    sketch.Launch(1020, 1).Kernel(1032, 1300, 1, 7, "source");
    sketch.Launch(1040, 2).Kernel(start, 1400, 2, 20, "waits");
    const Replayed r(std::move(sketch));
    return r.graph().EdgesOf(r.Kernel("waits")).size();
  };
  EXPECT_EQ(waits_for(1299), 2u);  // its launch and an event
  EXPECT_EQ(waits_for(1299.5), 1u);
}

// Two kernels of 1 us wait for the same one: by rounded times each ends within the rounding of the
// other's start, and is no reason for it.
TEST(Graph, WorkThatBeganAtTheSameMomentIsNoEvent) {
  TraceSketch sketch = OneStep();
  sketch.Launch(1005, 1).Kernel(1011, 1020, 1, 7, "first");
  sketch.Launch(1020, 2).Kernel(1032, 1300, 2, 13, "source");
  sketch.Launch(1026, 3).Kernel(1300, 1301, 3, 20, "one");
  sketch.Launch(1040, 4).Kernel(1300, 1301, 4, 7, "other");
  const Replayed r(std::move(sketch));
  for (const char* name : {"one", "other"}) {
    const auto edges = r.graph().EdgesOf(r.Kernel(name));
    ASSERT_EQ(edges.size(), 2U) << name;  // its launch and an event
    const Edge& event = edges[0].from_start ? edges[1] : edges[0];
    EXPECT_EQ(event.from, r.Kernel("source")) << name;
  }
}

// Work that starts as soon as it is launched waits for nobody, whatever ends beside it.
TEST(Graph, NoEventWhereTheLaunchExplainsTheStart) {
  TraceSketch sketch = OneStep();
  sketch.Launch(1020, 1).Kernel(1032, 1300, 1, 7, "other");
  sketch.Launch(1293, 2).Kernel(1301, 1400, 2, 20, "prompt");
  const Replayed r(std::move(sketch));
  const auto edges = r.graph().EdgesOf(r.Kernel("prompt"));
  ASSERT_EQ(edges.size(), 1U);
  EXPECT_EQ(r.At(edges[0].from).kind, TaskKind::kLaunch);
}

TEST(Graph, BackwardRunsOnAThreadOfItsOwnAndHandsBack) {
  TraceSketch sketch = OneStep();
  sketch.Op("aten::forward", 1010, 1100).Launch(1020, 1).Kernel(1032, 1090, 1, 7, "forward");
  sketch.Op("autograd::engine", 1120, 1380, TraceSketch::kAutograd);
  sketch.Launch(1130, 2, TraceSketch::kAutograd).Kernel(1140, 1350, 2, 7, "backward");
  sketch.Op("aten::step", 1400, 1500).Launch(1410, 3).Kernel(1420, 1450, 3, 7, "step");
  const Replayed r(std::move(sketch));
  ASSERT_EQ(r.graph().lanes.size(), 3U);
  const TaskId engine = r.Starting(1, 1100);  // since the forward pass was done
  ASSERT_NE(engine, kNoTask);
  ASSERT_EQ(r.graph().EdgesOf(engine).size(), 1U);
  EXPECT_EQ(r.At(r.graph().EdgesOf(engine)[0].from).lane, 0);
  const TaskId resumed = r.Starting(0, 1380);
  ASSERT_NE(resumed, kNoTask);
  EXPECT_EQ(r.At(resumed).duration_ns, 20 * kUs);
  ASSERT_EQ(r.graph().EdgesOf(resumed).size(), 1U);
  EXPECT_EQ(r.At(r.graph().EdgesOf(resumed)[0].from).lane, 1);
}

TEST(Graph, WorkQueuedBeforeRecordingBeganIsLeftOut) {
  TraceSketch sketch = OneStep();
  sketch.Kernel(1010, 1050, 0, 7, "queued");
  sketch.Launch(1020, 1).Kernel(1060, 1100, 1, 7, "own");
  sketch.Kernel(1110, 1150, 0, 7, "lost");
  const Replayed r(std::move(sketch));
  EXPECT_EQ(r.Kernel("queued"), kNoTask);
  EXPECT_NE(r.Kernel("lost"), kNoTask);
  EXPECT_EQ(r.graph().unlinked, 1U);
  // It still held the stream.
  EXPECT_EQ(r.graph().lanes[r.At(r.Kernel("own")).lane].ready_ns, 1050 * kUs);
}

// Steps of 1 ms that begin with a fetch of `fetch` us.
Replayed Fetching(double fetch) {
  TraceSketch sketch;
  MarkSteps(sketch, 4, 1000);
  for (int i = 0; i < 4; ++i) {
    const double at = 1000 + 1000 * i;
    sketch.Annotation("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", at + 1,
                      at + 1 + fetch);
    sketch.Op("aten::mm", at + 5 + fetch, at + 900).Launch(at + 10 + fetch, i + 1);
    sketch.Kernel(at + 20 + fetch, at + 890, i + 1);
  }
  return Replayed(std::move(sketch));
}

TEST(Graph, WorkersThatAreLateAreALane) {
  const Replayed late = Fetching(400);
  const auto workers =
      std::find_if(late.graph().lanes.begin(), late.graph().lanes.end(),
                   [](const Lane& lane) { return lane.kind == LaneKind::kWorkers; });
  ASSERT_NE(workers, late.graph().lanes.end());
  const TaskId fetched = late.Starting(0, 1401);  // the fetch ends when the batch is there
  ASSERT_NE(fetched, kNoTask);
  EXPECT_EQ(late.At(fetched).kind, TaskKind::kInput);
  EXPECT_EQ(late.At(fetched).duration_ns, 0);
  ASSERT_EQ(late.graph().EdgesOf(fetched).size(), 1U);
  EXPECT_EQ(late.graph().lanes[late.At(late.graph().EdgesOf(fetched)[0].from).lane].kind,
            LaneKind::kWorkers);

  const Replayed early = Fetching(20);  // 2 % of the step: their speed cannot be seen
  for (const Lane& lane : early.graph().lanes) EXPECT_NE(lane.kind, LaneKind::kWorkers);
}

}  // namespace
}  // namespace hone::replay
