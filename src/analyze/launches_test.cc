// SPDX-License-Identifier: Apache-2.0
#include "analyze/launches.h"

#include <gtest/gtest.h>

#include "analyze/sketch_test.h"

namespace hone::analyze {
namespace {

using trace::Trace;

TEST(Launches, AbsentWithoutDeviceWorkOrCalls) {
  EXPECT_EQ(MeasureLaunches(TraceSketch().Launch(0, 1).Finish()).why_not(),
            "no device work in this trace");
  EXPECT_EQ(MeasureLaunches(TraceSketch().Kernel(0, 1).Finish()).why_not(),
            "no device work in this trace has its launching call");
}

// Calls of 5 µs at 0, 10, 20; a fourth at 200, when the stream has been empty since 150.
TEST(Launches, DelaysQueueAndStarvation) {
  TraceSketch sketch;
  sketch.Launch(0, 1).Launch(10, 2).Launch(20, 3).Launch(200, 4);
  sketch.Kernel(8, 50, 1).Kernel(50, 100, 2).Kernel(100, 150, 3).Kernel(203, 210, 4);
  sketch.Kernel(300, 310, 99);  // launched by nobody in the file
  const auto facts = MeasureLaunches(sketch.Finish());
  ASSERT_TRUE(facts.has_value());
  EXPECT_EQ(facts->launches, 4u);
  EXPECT_EQ(facts->call_p50_ns, 5'000);
  // Delays: 3, 35, 75 and 0 (started inside the call): sorted 0 3 35 75.
  EXPECT_EQ(facts->delay_p50_ns, 19'000);
  EXPECT_EQ(facts->delay_p95_ns, 69'000);  // 35 + 0.85 · 40
  EXPECT_EQ(facts->delay_max_ns, 75'000);
  EXPECT_EQ(facts->starved, 1u);
  // At 20 µs the second and third wait, the first has started.
  EXPECT_EQ(facts->queue_max, 2u);
  EXPECT_EQ(facts->queue_full, 0u);
  // Waiting 8 + 40 + 80 + 3 = 131 µs over 0…203.
  EXPECT_NEAR(facts->queue_mean, 131.0 / 203.0, 1e-9);
}

TEST(Launches, AGraphIsOneEntryOfTheQueue) {
  TraceSketch sketch;
  sketch.Call("cudaGraphLaunch", 0, 40, 1);
  for (int i = 0; i < 3000; ++i) sketch.Kernel(50 + i * 3, 52 + i * 3, 1);
  const auto facts = MeasureLaunches(sketch.Finish());
  EXPECT_EQ(facts->launches, 1u);
  EXPECT_EQ(facts->queue_max, 1u);
  EXPECT_EQ(facts->queue_full, 0u);
  EXPECT_EQ(facts->call_p95_ns, 40'000);
  EXPECT_EQ(facts->starved, 0u);  // nothing before it: nobody knows
}

// A driver call inside a runtime call is the same launch, whichever of them the work links to;
// copies and sets are launches too, waits are none.
TEST(Launches, NestedCallsAreOne) {
  TraceSketch sketch;
  sketch.Call("cudaLaunchKernel", 0, 10, 1).Call("cuLaunchKernel", 2, 8, 2);
  sketch.Call("cudaMemcpyAsync", 20, 24, 3).Call("cudaStreamSynchronize", 30, 40, 4);
  sketch.Call("cudaMemsetAsync", 50, 52, 5).Call("vendorSubmit", 60, 61, 6);
  sketch.Kernel(5, 9, 2).CopyFromPageable(25, 29, 3).Kernel(70, 71, 6);
  const Trace trace = sketch.Finish();
  const std::vector<bool> expected = {true, false, true, false, true, true};
  EXPECT_EQ(FindLaunches(trace, ApiCalls(trace)), expected);
  const auto facts = MeasureLaunches(trace);
  ASSERT_TRUE(facts.has_value());
  EXPECT_EQ(facts->launches, 4u);
  EXPECT_EQ(facts->call_p50_ns, 3'000);  // of 10, 4, 2 and 1
}

TEST(Launches, FullQueue) {
  TraceSketch sketch;
  sketch.Launch(0, 1).Kernel(10, 100'000, 1);
  for (int i = 2; i <= 1100; ++i) {
    sketch.Launch(i * 10, i).Kernel(100'000 + i * 10, 100'005 + i * 10, i);
  }
  const auto facts = MeasureLaunches(sketch.Finish());
  // Entries 2…1100 wait; the 1,025th of them is the first to meet 1,024.
  EXPECT_EQ(facts->queue_max, 1099u);
  EXPECT_EQ(facts->queue_full, 75u);
}

TEST(Launches, StreamsHaveTheirOwnQueues) {
  TraceSketch sketch;
  sketch.Launch(0, 1).Launch(10, 2).Kernel(100, 110, 1, 7).Kernel(100, 120, 2, 8);
  EXPECT_EQ(MeasureLaunches(sketch.Finish())->queue_max, 1u);
}

TEST(KernelSizes, BucketsAreHalfOpenAndHoldKernelsOnly) {
  TraceSketch sketch;
  sketch.Kernel(0, 1.999).Kernel(10, 12).Kernel(20, 29.999).Kernel(40, 50).Kernel(100, 20'100);
  sketch.Kernel(30'000, 30'010);
  sketch.CopyFromPageable(0, 1, 0);
  const auto sizes = MeasureKernelSizes(sketch.Finish());
  ASSERT_TRUE(sizes.has_value());
  const std::array<std::uint64_t, 8> expected = {1, 1, 1, 2, 0, 0, 0, 1};
  EXPECT_EQ(sizes->count, expected);
  EXPECT_EQ(sizes->time_ns[7], 20'000'000);
  EXPECT_EQ(sizes->kernels, 6u);
  EXPECT_EQ(sizes->under_10us, 3u);
}

TEST(KernelSizes, NoKernelsIsAbsent) {
  EXPECT_FALSE(MeasureKernelSizes(TraceSketch().CopyFromPageable(0, 1, 0).Finish()).has_value());
}

}  // namespace
}  // namespace hone::analyze
