// SPDX-License-Identifier: Apache-2.0
#include "analyze/idle.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "analyze/sketch_test.h"

namespace hone::analyze {
namespace {

using trace::CopyDirection;
using trace::Interval;
using trace::kNoRow;
using trace::MemoryKind;
using trace::Trace;

constexpr auto kMain = TraceSketch::kMain;
constexpr auto kAutograd = TraceSketch::kAutograd;

Nanos Total(const std::array<Nanos, kIdleCauseCount>& by_cause) {
  return std::accumulate(by_cause.begin(), by_cause.end(), Nanos{0});
}

struct Explained {
  Known<Timeline> timeline;
  Known<IdleFacts> idle;
};

Explained ExplainWithin(const Trace& trace, Interval window) {
  Steps steps;
  steps.steady_window.AppendSorted(window);
  Explained out;
  out.timeline = ComputeTimeline(trace, WorkClasses(trace), steps.steady_window);
  out.idle = ExplainIdle(trace, out.timeline, steps, Lineage(trace));
  if (out.idle) {
    EXPECT_EQ(Total(out.idle->whole_ns), out.timeline->main_device().whole.idle_ns);
    EXPECT_EQ(Total(out.idle->steady_ns), out.timeline->main_device().steady.idle_ns);
  }
  return out;
}

// The cause of the only gap, and the name of the slice it is blamed on.
struct Single {
  IdleCause cause;
  std::string blamed;
  Nanos length_ns;
};
Single Only(const Trace& trace) {
  const Explained out = ExplainWithin(trace, {});
  EXPECT_EQ(out.idle->gaps.size(), 1u);
  if (out.idle->gaps.size() != 1) return {IdleCause::kUnknown, "no single gap", 0};
  const IdleGap& gap = out.idle->gaps[0];
  const std::string blamed(gap.blamed == kNoRow ? "" : trace.HostName(gap.blamed));
  return {gap.cause, blamed, gap.span.length()};
}

TEST(Idle, NoDeviceWorkIsAbsent) {
  const Trace trace = TraceSketch().Op("aten::mm", 0, 10).Finish();
  EXPECT_FALSE(ExplainWithin(trace, {}).idle.has_value());
}

TEST(Idle, DeviceOnlyTraceIsUnknown) {
  const Trace trace = TraceSketch().Kernel(0, 10).Kernel(30, 40).Finish();
  const Single gap = Only(trace);
  EXPECT_EQ(gap.cause, IdleCause::kUnknown);
  EXPECT_EQ(gap.length_ns, 20'000);
}

TEST(Idle, FetchingABatchIsWaitingForData) {
  TraceSketch sketch;
  sketch.Launch(0, 1).Kernel(10, 100, 1);
  sketch.Annotation("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 90, 500);
  sketch.Op("aten::stack", 100, 480);  // collating inside the loader is loading
  sketch.Launch(510, 2).Kernel(520, 600, 2);
  const Single gap = Only(sketch.Finish());
  EXPECT_EQ(gap.cause, IdleCause::kLoader);
  EXPECT_EQ(gap.blamed, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__");
}

TEST(Idle, AShortFetchInALongGapIsNotTheCause) {
  TraceSketch sketch;
  sketch.Launch(0, 1).Kernel(10, 100, 1);
  sketch.Annotation("DataLoader", 100, 200).Annotation("evaluate", 200, 990);
  sketch.Launch(1000, 2).Kernel(1010, 1100, 2);
  const Single gap = Only(sketch.Finish());
  EXPECT_EQ(gap.cause, IdleCause::kHostWork);
  EXPECT_EQ(gap.blamed, "evaluate");
}

TEST(Idle, QueuedWorkIsTurnAround) {
  TraceSketch sketch;
  sketch.Launch(0, 1).Launch(6, 2).Kernel(10, 100, 1).Kernel(102, 200, 2);
  // What the host does meanwhile does not matter: the work was there.
  sketch.Annotation("DataLoader", 12, 150);
  EXPECT_EQ(Only(sketch.Finish()).cause, IdleCause::kDeviceOverhead);
}

TEST(Idle, QueuedWorkThatDoesNotStartIsUnknown) {
  TraceSketch sketch;
  sketch.Launch(0, 1).Launch(6, 2).Kernel(10, 100, 1).Kernel(5000, 5100, 2);
  EXPECT_EQ(Only(sketch.Finish()).cause, IdleCause::kUnknown);
}

TEST(Idle, LaunchedInTheGapButStartedMuchLaterIsUnknown) {
  TraceSketch sketch;
  sketch.Launch(0, 1).Kernel(10, 100, 1).Launch(110, 2).Kernel(5000, 5100, 2);
  EXPECT_EQ(Only(sketch.Finish()).cause, IdleCause::kUnknown);
}

TEST(Idle, WorkThatWaitedForAnotherStream) {
  const auto gap_after = [](std::string_view kernel, std::int64_t stream) {
    TraceSketch sketch;
    sketch.Launch(0, 1).Launch(6, 2).Kernel(10, 100, 1, stream, kernel).Kernel(104, 200, 2, 7);
    return Only(sketch.Finish()).cause;
  };
  EXPECT_EQ(gap_after("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 20), IdleCause::kCommunication);
  EXPECT_EQ(gap_after("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 7), IdleCause::kDeviceOverhead);
  EXPECT_EQ(gap_after("gemm", 20), IdleCause::kDeviceOverhead);

  TraceSketch sketch;
  sketch.Call("cudaMemcpyAsync", 0, 5, 1).Launch(6, 2);
  sketch.Copy(10, 100, 1, CopyDirection::kHostToDevice, MemoryKind::kPinned, MemoryKind::kDevice, 8,
              20);
  sketch.Kernel(104, 200, 2, 7);
  EXPECT_EQ(Only(sketch.Finish()).cause, IdleCause::kCopy);
}

// The host was blocked for 900 µs while the device worked; it could have prepared the next launch.
TEST(Idle, SynchronizationThatDrainedTheQueue) {
  TraceSketch sketch;
  sketch.Launch(0, 1).Kernel(10, 1000, 1);
  sketch.Op("aten::item", 90, 1006).Call("cudaStreamSynchronize", 100, 1005);
  sketch.Annotation("Optimizer.step#Adam.step", 1010, 1210);
  sketch.Launch(1200, 2).Kernel(1210, 1300, 2);
  const Single gap = Only(sketch.Finish());
  EXPECT_EQ(gap.cause, IdleCause::kSync);
  EXPECT_EQ(gap.blamed, "cudaStreamSynchronize");
}

// Blocked for 20 µs only: credit until 1005 + 20 = 1025 of a gap that lasts until 1610.
TEST(Idle, ShortSynchronizationBeforeLongHostWork) {
  TraceSketch sketch;
  sketch.Launch(0, 1).Kernel(10, 1000, 1).Call("cudaStreamSynchronize", 980, 1005);
  sketch.Annotation("checkpoint", 1006, 1590).Launch(1600, 2).Kernel(1610, 1700, 2);
  const Single gap = Only(sketch.Finish());
  EXPECT_EQ(gap.cause, IdleCause::kHostWork);
  EXPECT_EQ(gap.blamed, "checkpoint");
}

// A call that returned before the gap held back what followed it by no more than it took: credit
// until 1000 + 10 = 1010 of a gap that lasts until 1030. With that of a call still in progress,
// until 1000 + 26, it would be to blame for most of it.
TEST(Idle, ShortSynchronizationThatReturnedBeforeTheGap) {
  TraceSketch sketch;
  sketch.Launch(0, 1).Kernel(10, 1000, 1).Call("cudaEventSynchronize", 974, 984);
  sketch.Launch(1025, 2).Kernel(1030, 1100, 2);
  EXPECT_EQ(Only(sketch.Finish()).cause, IdleCause::kLaunch);
}

// Of two blocking calls before a gap the longer counts, whichever came first.
TEST(Idle, OfTwoBlockingCallsTheLongerCounts) {
  TraceSketch sketch;
  sketch.Launch(0, 1).Kernel(10, 1000, 1);
  sketch.Call("cudaEventSynchronize", 970, 982).Call("cudaStreamSynchronize", 984, 1005);
  sketch.Launch(1025, 2).Kernel(1030, 1100, 2);
  EXPECT_EQ(Only(sketch.Finish()).blamed, "cudaStreamSynchronize");
}

TEST(Idle, SynchronizationThenFetchIsWaitingForData) {
  TraceSketch sketch;
  sketch.Launch(0, 1).Kernel(10, 1000, 1).Call("cudaDeviceSynchronize", 20, 1005);
  sketch.Annotation("DataLoader", 1010, 1500).Launch(1510, 2).Kernel(1520, 1600, 2);
  EXPECT_EQ(Only(sketch.Finish()).cause, IdleCause::kLoader);
}

TEST(Idle, SynchronizationThatEndedLongBeforeIsInnocent) {
  TraceSketch sketch;
  sketch.Launch(0, 1).Kernel(10, 1000, 1).Call("cudaEventSynchronize", 20, 900);
  sketch.Annotation("metrics", 901, 1390).Launch(1400, 2).Kernel(1410, 1500, 2);
  EXPECT_EQ(Only(sketch.Finish()).cause, IdleCause::kHostWork);
}

TEST(Idle, BlockingCopyThatDrainedTheQueue) {
  TraceSketch sketch;
  // As PyTorch copies pageable memory: the call returns just before the end, a sync follows.
  sketch.Op("aten::to", 0, 1020).Call("cudaMemcpyAsync", 5, 998, 1);
  sketch.Call("cudaStreamSynchronize", 1006, 1010).CopyFromPageable(20, 1004, 1);
  sketch.Launch(1200, 2).Kernel(1210, 1300, 2);
  const Single gap = Only(sketch.Finish());
  EXPECT_EQ(gap.cause, IdleCause::kCopy);
  EXPECT_EQ(gap.blamed, "cudaMemcpyAsync");
}

TEST(Idle, PinnedCopyDoesNotBlock) {
  TraceSketch sketch;
  sketch.Call("cudaMemcpyAsync", 5, 10, 1);
  sketch.Copy(20, 1004, 1, CopyDirection::kHostToDevice, MemoryKind::kPinned, MemoryKind::kDevice);
  sketch.Annotation("metrics", 15, 1190).Launch(1200, 2).Kernel(1210, 1300, 2);
  EXPECT_EQ(Only(sketch.Finish()).cause, IdleCause::kHostWork);
}

TEST(Idle, BlockedInsideACollectiveIsCommunication) {
  TraceSketch sketch;
  sketch.Launch(0, 1).Kernel(10, 1000, 1);
  sketch.Op("c10d::barrier", 20, 1010).Call("cudaStreamSynchronize", 30, 1005);
  sketch.Launch(1200, 2).Kernel(1210, 1300, 2);
  EXPECT_EQ(Only(sketch.Finish()).cause, IdleCause::kCommunication);
}

TEST(Idle, AllocatorCallInsideAnOperator) {
  TraceSketch sketch;
  sketch.Launch(0, 1).Kernel(10, 100, 1);
  sketch.Op("aten::empty", 110, 900).Call("cudaMalloc", 120, 890);
  sketch.Launch(910, 2).Kernel(920, 1000, 2);
  const Single gap = Only(sketch.Finish());
  EXPECT_EQ(gap.cause, IdleCause::kAllocator);
  EXPECT_EQ(gap.blamed, "cudaMalloc");
}

TEST(Idle, OperatorsAndLaunchCallsAreLaunching) {
  TraceSketch sketch;
  sketch.Launch(0, 1).Kernel(10, 20, 1);
  sketch.Annotation("ProfilerStep#1", 0, 1000);
  sketch.Op("aten::linear", 40, 200).Op("aten::addmm", 50, 190).Launch(150, 2);
  sketch.Kernel(160, 170, 2);
  const Single gap = Only(sketch.Finish());
  EXPECT_EQ(gap.cause, IdleCause::kLaunch);
  EXPECT_EQ(gap.blamed, "aten::linear");
}

TEST(Idle, ShortPausesBetweenOperatorsAreLaunchingLongOnesAreNot) {
  const auto cause_of_pause = [](double pause_us) {
    TraceSketch sketch;
    const double op = 30 + pause_us;
    sketch.Annotation("ProfilerStep#1", 0, 5000);
    sketch.Op("aten::relu", 0, 30).Launch(2, 1).Kernel(10, 29, 1);
    sketch.Op("aten::add", op, op + 20).Launch(op + 5, 2).Kernel(op + 12, op + 14, 2);
    return Only(sketch.Finish()).cause;
  };
  EXPECT_EQ(cause_of_pause(50), IdleCause::kLaunch);
  EXPECT_EQ(cause_of_pause(51), IdleCause::kHostWork);
}

TEST(Idle, OperatorThatComputesOnTheHost) {
  TraceSketch sketch;
  sketch.Launch(0, 1).Kernel(10, 20, 1);
  sketch.Op("aten::randn", 30, 900).Op("aten::normal_", 40, 890);
  sketch.Op("aten::add", 910, 930).Launch(915, 2).Kernel(922, 950, 2);
  const Single gap = Only(sketch.Finish());
  EXPECT_EQ(gap.cause, IdleCause::kHostWork);
  EXPECT_EQ(gap.blamed, "aten::normal_");
}

TEST(Idle, ManyViewsAreStillLaunching) {
  TraceSketch sketch;
  sketch.Launch(0, 1).Kernel(10, 20, 1).Op("aten::unflatten", 30, 900);
  for (int i = 0; i < 40; ++i) sketch.Op("aten::view", 35 + i * 20, 50 + i * 20);
  sketch.Op("aten::add", 910, 930).Launch(915, 2).Kernel(922, 950, 2);
  EXPECT_EQ(Only(sketch.Finish()).cause, IdleCause::kLaunch);
}

// The autograd thread launches, but had nothing to do while the forward thread prepared the loss.
TEST(Idle, FollowsToTheThreadThatWasActive) {
  TraceSketch sketch;
  sketch.Annotation("ProfilerStep#1", 0, 2000);
  sketch.Op("aten::mm", 0, 10).Launch(2, 1).Kernel(12, 100, 1);
  sketch.Op("aten::cross_entropy", 100, 700);
  sketch.Op("aten::view", 105, 130).Call("cudaStreamIsCapturing", 140, 141);
  sketch.Op("MmBackward0", 720, 760, kAutograd).Launch(730, 2, kAutograd).Kernel(740, 800, 2);
  const Single gap = Only(sketch.Finish());
  EXPECT_EQ(gap.cause, IdleCause::kLaunch);
  EXPECT_EQ(gap.blamed, "aten::cross_entropy");
}

TEST(Idle, ThreadsThatLaunchNothingExplainNothing) {
  TraceSketch sketch;
  sketch.Annotation("ProfilerStep#1", 0, 2000);
  sketch.Launch(2, 1).Kernel(12, 100, 1).Launch(720, 2).Kernel(730, 800, 2);
  for (int i = 0; i < 30; ++i) sketch.Op("aten::resize", 100 + i * 20, 119 + i * 20, 300);
  EXPECT_EQ(Only(sketch.Finish()).cause, IdleCause::kHostWork);
}

TEST(Idle, AnotherThreadsLoaderIsNotWhatOwnCodeWaitsFor) {
  TraceSketch sketch;
  sketch.Annotation("evaluate", 50, 715).Launch(2, 1).Kernel(12, 100, 1);
  sketch.Annotation("DataLoader", 0, 700, 300).Launch(0, 9, 300);
  sketch.Launch(720, 2).Kernel(730, 800, 2).Kernel(20, 30, 9);
  EXPECT_EQ(Only(sketch.Finish()).cause, IdleCause::kHostWork);
}

TEST(Idle, LaunchedBeforeTheRecordingWasQueued) {
  TraceSketch sketch;
  sketch.Kernel(0, 10, 501).Kernel(12, 20, 502);  // no calls in the file
  sketch.Launch(14, 1).Kernel(20, 30, 1);
  EXPECT_EQ(Only(sketch.Finish()).cause, IdleCause::kDeviceOverhead);
}

TEST(Idle, UnlinkedWorkIsExplainedByTheMainLauncher) {
  TraceSketch sketch;
  sketch.Launch(0, 1).Kernel(10, 20, 1).Annotation("DataLoader", 25, 190).Kernel(200, 210, 77);
  EXPECT_EQ(Only(sketch.Finish()).cause, IdleCause::kLoader);
}

TEST(Idle, EdgesOfTheSteadyWindowCount) {
  TraceSketch sketch;
  sketch.Annotation("ProfilerStep#1", 0, 1000).Annotation("DataLoader", 10, 400);
  sketch.Launch(410, 1).Kernel(420, 600, 1);
  const Trace trace = sketch.Finish();
  const Explained out = ExplainWithin(trace, {0, 1'000'000});
  ASSERT_TRUE(out.idle.has_value());
  EXPECT_TRUE(out.idle->gaps.empty());
  EXPECT_EQ(out.idle->steady_ns[static_cast<std::size_t>(IdleCause::kLoader)], 420'000);
  EXPECT_EQ(out.idle->steady_ns[static_cast<std::size_t>(IdleCause::kHostWork)], 400'000);
  EXPECT_EQ(Total(out.idle->whole_ns), 0);
}

TEST(Idle, AGapAcrossTheWindowsEdgeIsCutThere) {
  TraceSketch sketch;
  sketch.Launch(0, 1).Kernel(10, 100, 1).Annotation("DataLoader", 100, 500);
  sketch.Launch(510, 2).Kernel(520, 600, 2);
  const Explained out = ExplainWithin(sketch.Finish(), {300'000, 560'000});
  EXPECT_EQ(out.idle->whole_ns[static_cast<std::size_t>(IdleCause::kLoader)], 420'000);
  EXPECT_EQ(out.idle->steady_ns[static_cast<std::size_t>(IdleCause::kLoader)], 220'000);
}

TEST(Idle, EveryCauseHasWords) {
  for (std::size_t c = 0; c < kIdleCauseCount; ++c) {
    EXPECT_NE(std::string(IdleCauseId(static_cast<IdleCause>(c))), "");
    EXPECT_NE(std::string(IdleCauseText(static_cast<IdleCause>(c))), "");
  }
  EXPECT_STREQ(IdleCauseId(IdleCause::kLoader), "waiting-for-data");
}

// Whatever the input, the causes sum to the idle time (checked in ExplainWithin).
TEST(Idle, SumsHoldOnRandomTraces) {
  std::mt19937 random(7);
  const auto pick = [&](int limit) { return static_cast<int>(random() % limit); };
  constexpr std::array<const char*, 8> kNames = {
      "cudaLaunchKernel", "cudaStreamSynchronize", "cudaMalloc",      "aten::mm",
      "DataLoader",       "cudaMemcpyAsync",       "nccl:all_reduce", "train.py(1): f"};
  for (int round = 0; round < 200; ++round) {
    TraceSketch sketch;
    for (int i = 0; i < pick(60); ++i) {
      const int begin = pick(1000);
      sketch.Slice(static_cast<trace::SliceKind>(pick(trace::kSliceKindCount)), kNames[pick(8)],
                   begin, begin + pick(200), 100 + pick(3), pick(20));
    }
    for (int i = 0; i < 1 + pick(30); ++i) {
      const int begin = pick(1000);
      sketch.Kernel(begin, begin + pick(60), pick(20), pick(3));
    }
    const Nanos begin = pick(1000) * 1000;
    ExplainWithin(sketch.Finish(), {begin, begin + pick(1500) * 1000});
  }
}

}  // namespace
}  // namespace hone::analyze
