// SPDX-License-Identifier: Apache-2.0
// Which steps of a trace the graph replays.
#include "replay/graph.h"
#include "replay/replayed_test.h"
#include "replay/simulate.h"

namespace hone::replay {
namespace {

// Eight of ten steps fit; the first three are longer, not enough for warm-up. All take 11,045 us in
// the middle, the first eight 11,056 and the eight from the second on 11,037.
TEST(GraphSteps, ALargeTraceIsReplayedFromStepsNearTheirMean) {
  TraceSketch sketch;
  double at = 1000;
  std::int64_t correlation = 0;
  for (int step = 0; step < 10; ++step) {
    const double length = step < 3 ? 11'150 : 11'000;
    sketch.Annotation("ProfilerStep#" + std::to_string(step + 1), at, at + length);
    for (int kernel = 0; kernel < 900; ++kernel) {
      const double start = at + 12 * kernel;
      ++correlation;
      sketch.Launch(start, correlation).Kernel(start + 6, start + 10, correlation, 7, "k");
    }
    at += length;
  }
  const Replayed r(std::move(sketch));
  ASSERT_TRUE(r.built()) << r.why_not();
  EXPECT_EQ(r.graph().all_steps, 10u);
  EXPECT_EQ(r.graph().steps, 8u);
  EXPECT_EQ(r.graph().first_step, 1u);
}

// Steps of 300 launches, each 6 us apart, and kernels of 10: the host is `ahead` launches ahead
// when the window begins, and the file ends with the host. `batches`: each step copies one, on a
// stream that has nothing else to do.
Replayed HostAhead(int ahead, int steps = 4, bool batches = false) {
  TraceSketch sketch;
  constexpr int kLaunches = 300;
  MarkSteps(sketch, steps, 6 * kLaunches);
  const double end = 1000 + 6 * kLaunches * steps;
  for (int i = 0; i < ahead; ++i) sketch.Kernel(1000 + 10 * i, 1010 + 10 * i);
  for (int i = 0; i < kLaunches * steps; ++i) {
    const double start = 1010 + 10 * (ahead + i);
    sketch.Launch(1000 + 6 * i, i + 1);
    if (start + 10 <= end) sketch.Kernel(start, start + 10, i + 1);
  }
  for (int step = 0; batches && step < steps; ++step) {
    const double at = 1000 + 6 * kLaunches * (step + 1) - 55;
    const std::int64_t correlation = 10'000 + step;
    sketch.Call("cudaMemcpyAsync", at, at + 1, correlation);
    sketch.Copy(at + 5, at + 50, correlation, trace::CopyDirection::kHostToDevice,
                trace::MemoryKind::kPinned, trace::MemoryKind::kDevice, 1'000'000, 20);
  }
  return Replayed(std::move(sketch));
}

TEST(GraphSteps, StepsThatTheDeviceNeverCameToAreNotReplayed) {
  const Replayed r = HostAhead(50);
  ASSERT_TRUE(r.built()) << r.why_not();
  EXPECT_EQ(r.graph().steps, 2u);  // 669 kernels ran: two steps and a part
  EXPECT_EQ(r.graph().all_steps, 4u);
  EXPECT_NEAR(SteadyStep(r.graph(), Plan(r.graph())), 3000e3, 30e3);
}

TEST(GraphSteps, BatchesThatAreCopiedAheadAreNotTheirWork) {
  const Replayed r = HostAhead(50, 4, true);
  ASSERT_TRUE(r.built()) << r.why_not();
  EXPECT_EQ(r.graph().steps, 2u);
  EXPECT_NEAR(SteadyStep(r.graph(), Plan(r.graph())), 3000e3, 30e3);
}

// Steps of a kernel and a CUDA graph whose kernels name no launch.
TEST(GraphSteps, GraphsWhoseWorkIsNotLinkedLackNone) {
  TraceSketch sketch;
  MarkSteps(sketch, 4, 1000);
  for (int i = 0; i < 4; ++i) {
    const double at = 1000 + 1000 * i;
    sketch.Launch(at + 10, 2 * i + 1).Kernel(at + 20, at + 100, 2 * i + 1);
    sketch.Call("cudaGraphLaunch", at + 110, at + 130, 2 * i + 2).Kernel(at + 140, at + 900);
  }
  const Replayed r(std::move(sketch));
  ASSERT_TRUE(r.built()) << r.why_not();
  EXPECT_EQ(r.graph().steps, 4u);
}

// Eight of ten steps fit, and two more lack their work: these are twice as long, and whoever takes
// them for the mean takes the first eight.
TEST(GraphSteps, StepsWithoutTheirWorkAreNoPartOfTheMean) {
  TraceSketch sketch;
  double at = 1000;
  std::int64_t correlation = 0;
  for (int step = 0; step < 12; ++step) {
    const double length = step < 3 ? 11'150 : step < 10 ? 11'000 : 22'000;
    sketch.Annotation("ProfilerStep#" + std::to_string(step + 1), at, at + length);
    for (int kernel = 0; kernel < 900; ++kernel) {
      const double start = at + 12 * kernel;
      sketch.Launch(start, ++correlation);
      if (step < 10) sketch.Kernel(start + 6, start + 10, correlation, 7, "k");
    }
    at += length;
  }
  const Replayed r(std::move(sketch));
  ASSERT_TRUE(r.built()) << r.why_not();
  EXPECT_EQ(r.graph().steps, 8u);
  EXPECT_EQ(r.graph().first_step, 1u);
}

TEST(GraphSteps, WithoutTheWorkOfAnyStepItSaysWhy) {
  const Replayed r = HostAhead(300, 2);
  ASSERT_FALSE(r.built());
  EXPECT_NE(r.why_not().find("ends before the device has run"), std::string::npos);
}

TEST(GraphSteps, WithoutStepsItSaysWhy) {
  TraceSketch sketch;
  sketch.Op("aten::mm", 1010, 1100).Launch(1020, 1).Kernel(1030, 1090, 1);
  const Replayed r(std::move(sketch));
  ASSERT_FALSE(r.built());
  EXPECT_NE(r.why_not().find("no steps to replay"), std::string::npos);
}

}  // namespace
}  // namespace hone::replay
