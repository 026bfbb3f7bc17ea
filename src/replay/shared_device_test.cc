// SPDX-License-Identifier: Apache-2.0
#include "replay/shared_device.h"

#include "replay/replayed_test.h"
#include "replay/simulate.h"

namespace hone::replay {
namespace {

constexpr Nanos kUs = kMicrosecond;

// One step of 4 ms: a kernel of 1 ms on a stream and one of 1 ms on another, `apart` us later.
Replayed TwoStreams(double apart, const char* second = "second") {
  TraceSketch sketch;
  MarkSteps(sketch, 1, 4000);
  sketch.Launch(1010, 1).Kernel(1100, 2100, 1, 7, "first");
  sketch.Launch(1020, 2).Kernel(1100 + apart, 2100 + apart, 2, 20, second);
  return Replayed(std::move(sketch));
}

TEST(SharedDevice, WhatRanAtOnceRunsInTurnAndTogetherTakesAsLong) {
  const Replayed r = TwoStreams(200);
  const Task& first = r.At(r.Kernel("first"));
  const Task& second = r.At(r.Kernel("second"));
  EXPECT_EQ(first.lane, second.lane);
  // 200 us alone and 800 shared by two, each.
  EXPECT_EQ(first.duration_ns, 600 * kUs);
  EXPECT_EQ(second.duration_ns, 600 * kUs);
  EXPECT_EQ(first.start_ns, 1100 * kUs);
  EXPECT_EQ(second.start_ns, 1700 * kUs);
}

TEST(SharedDevice, StreamsThatHardlyMeetKeepTheirLanes) {
  const Replayed r = TwoStreams(960);
  EXPECT_NE(r.At(r.Kernel("first")).lane, r.At(r.Kernel("second")).lane);
  EXPECT_EQ(r.At(r.Kernel("first")).duration_ns, 1000 * kUs);
  EXPECT_EQ(r.At(r.Kernel("second")).duration_ns, 1000 * kUs);
}

// Another process on the same device is not replayed: its kernels take nothing away.
TEST(SharedDevice, StreamsOfAnotherProcessAreNotShared) {
  TraceSketch sketch;
  MarkSteps(sketch, 1, 4000);
  sketch.Launch(1010, 1).Kernel(1100, 2100, 1, 7, "own");
  sketch.Kernel(1300, 2300, 0, 20, "foreign");
  sketch.builder().trace().streams.back().process = sketch.builder().ProcessFor(77);
  const Replayed r(std::move(sketch));
  EXPECT_EQ(r.At(r.Kernel("own")).duration_ns, 1000 * kUs);
}

// The host waits for the shorter of two that run at once, and returns long before the replay has
// come to it: the time stays with the call.
TEST(SharedDevice, AWaitForWorkThatIsReplayedLaterKeepsItsTime) {
  TraceSketch sketch;
  MarkSteps(sketch, 1, 4000);
  sketch.Launch(1010, 1).Kernel(1100, 3100, 1, 7, "long");
  sketch.Launch(1020, 2).Kernel(1200, 2200, 2, 20, "short");
  sketch.Call("cudaStreamSynchronize", 1030, 2205, 3);
  const Replayed r(std::move(sketch));
  ASSERT_EQ(r.At(r.Kernel("long")).lane, r.At(r.Kernel("short")).lane);
  EXPECT_EQ(ReplayWindow(r.graph(), Plan(r.graph())), 4000 * kUs);
}

TEST(SharedDevice, CollectivesWaitForOtherRanksAndAreLeftAlone) {
  const Replayed r = TwoStreams(200, "ncclDevKernel_AllReduce_Sum_f32_RING_LL");
  EXPECT_NE(r.At(r.Kernel("first")).lane,
            r.At(r.Kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL")).lane);
  EXPECT_EQ(r.At(r.Kernel("first")).duration_ns, 1000 * kUs);
}

}  // namespace
}  // namespace hone::replay
