// SPDX-License-Identifier: Apache-2.0
// Rules about copies: which of them a copy belongs to, and which belong to none.
#include <gtest/gtest.h>

#include <string>

#include "analyze/sketch_test.h"
#include "doctor/look_test.h"

namespace hone::doctor {
namespace {

using analyze::TraceSketch;
using trace::CopyDirection;
using trace::MemoryKind;

constexpr int kSteps = 6;
constexpr double kStep = 3000;  // us

// Steps that copy a batch on the stream of their four kernels, and then wait for these. In us.
struct Job {
  MemoryKind source = MemoryKind::kPinned;
  double copy = 600;
  int copies_in = kSteps;     // the first so many steps
  double result_before = 0;   // a result of so many us is fetched before the batch is copied
  bool result_after = false;  // one is fetched at the end of the step
  bool looks_late = false;    // and looked at behind a kernel that is launched after it
  int loaders = 0;            // batches are fetched from so many
  bool in_parts = false;      // and each part is copied before the next one is fetched
  int steps = kSteps;
  bool waits_for_copy = false;  // the host does
  double kernel = 580;
  double between_launches = 10;
};

TraceSketch Sketch(const Job& job) {
  TraceSketch sketch;
  sketch.builder().trace().devices[sketch.builder().DeviceFor(0)].name = "NVIDIA H200";
  std::int64_t id = 100;
  for (int i = 0; i < job.steps; ++i) {
    const double begin = 1000 + i * kStep;
    sketch.Annotation("ProfilerStep#" + std::to_string(i + 3), begin, begin + kStep);
    double host = begin + 10, device = begin + 20;
    for (int loader = 0; loader < job.loaders; ++loader) {
      sketch.Annotation("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", host - 8,
                        host);
      host += 10;
      device += 10;
      if (!job.in_parts) continue;
      sketch.Call("cudaMemcpyAsync", host - 8, host - 4, ++id);
      sketch.Copy(device, device + job.copy / job.loaders, id, CopyDirection::kHostToDevice,
                  job.source, MemoryKind::kDevice, 33'000'000 / job.loaders);
      host += 10;
      device += job.copy / job.loaders;
    }
    if (job.result_before > 0) {
      const double end = device + job.result_before;
      sketch.Op("aten::item", host, end + 10).Call("cudaMemcpyAsync", host + 2, host + 8, ++id);
      sketch.Copy(device, end, id, CopyDirection::kDeviceToHost, MemoryKind::kDevice,
                  MemoryKind::kPinned, 4);
      sketch.Call("cudaStreamSynchronize", host + 9, end + 5, ++id);
      host = end + 20;
      device = host + 10;
    }
    if (i < job.copies_in && !job.in_parts) {
      const bool blocks = job.source == MemoryKind::kPageable;
      const double end = device + job.copy;
      const double returns = blocks ? end + 5 : host + 8;
      const double after = job.waits_for_copy ? end + 8 : returns;
      sketch.Op("aten::copy_", host, after + 2).Call("cudaMemcpyAsync", host + 2, returns, ++id);
      sketch.Copy(device, end, id, CopyDirection::kHostToDevice, job.source, MemoryKind::kDevice,
                  33'000'000);
      if (job.waits_for_copy) sketch.Call("cudaStreamSynchronize", returns + 2, end + 5, ++id);
      host = after + 10;
      device = end;
    }
    sketch.Op("aten::mm", host, host + 4 * job.between_launches + 5);
    for (int k = 0; k < 4; ++k) {
      sketch.Launch(host + 1, ++id);
      device = std::max(device + 2, host + 8);
      sketch.Kernel(device, device + job.kernel, id);
      device += job.kernel;
      host += job.between_launches;
    }
    if (job.result_after) {
      sketch.Call("cudaMemcpyAsync", host + 1, host + 4, ++id);
      sketch.Copy(device + 1, device + 3, id, CopyDirection::kDeviceToHost, MemoryKind::kDevice,
                  MemoryKind::kPinned, 4);
      device += 3;
    }
    if (job.looks_late) {
      sketch.Launch(host + 5, ++id);
      sketch.Kernel(device + 1, device + 3, id);
      device += 3;
    }
    sketch.Call("cudaStreamSynchronize", host + 12, device + 5, ++id);
  }
  return sketch;
}

TEST(CopyRules, KernelsThatWaitForABatchFromPinnedMemory) {
  const Look look(Sketch({}));
  const Finding* finding = look.Find("copy-unoverlapped");
  ASSERT_NE(finding, nullptr);
  // 3,000 us less the copy, which hides behind 2,320 us of kernels.
  EXPECT_NEAR(finding->predicted->likely_ns, 2.4e6, 0.03e6);
  EXPECT_EQ(look.Find("pageable-copy"), nullptr);
  EXPECT_EQ(look.Find("blocking-copy"), nullptr);
}

TEST(CopyRules, NoStepIsShorterThanItsCopies) {
  const Look look(Sketch({.copy = 2000, .kernel = 230}));
  const Finding* finding = look.Find("copy-unoverlapped");
  ASSERT_NE(finding, nullptr);
  EXPECT_GE(finding->predicted->likely_ns, 2.0e6);
}

TEST(CopyRules, ACopyBelongsToOneRule) {
  const Look pageable(Sketch({.source = MemoryKind::kPageable, .copy = 1500, .kernel = 350}));
  EXPECT_NE(pageable.Find("pageable-copy"), nullptr);
  EXPECT_EQ(pageable.Find("copy-unoverlapped"), nullptr);
  const Look waited(Sketch({.waits_for_copy = true, .kernel = 100, .between_launches = 550}));
  EXPECT_NE(waited.Find("blocking-copy"), nullptr);
  EXPECT_EQ(waited.Find("copy-unoverlapped"), nullptr);
}

TEST(CopyRules, ACopyThatTakesNoTimeIsNotWorthASentence) {
  EXPECT_EQ(Look(Sketch({.copy = 5, .kernel = 730})).Find("copy-unoverlapped"), nullptr);
}

TEST(CopyRules, ACopyOfOneStepHasNoBatchBeforeIt) {
  EXPECT_EQ(Look(Sketch({.copies_in = 2})).Find("copy-unoverlapped"), nullptr);
}

// The host launches a kernel every 700 us: the device waits for it, and not for the copy.
TEST(CopyRules, AHostThatSetsThePaceGainsNothing) {
  const Look look(Sketch({.kernel = 100, .between_launches = 700}));
  EXPECT_EQ(look.Find("copy-unoverlapped"), nullptr);
}

TEST(CopyRules, WhatAResultDecidesCannotBeCopiedAhead) {
  EXPECT_EQ(Look(Sketch({.result_before = 20, .kernel = 570})).Find("copy-unoverlapped"), nullptr);
}

// Steps of a program that fetches nothing: what was read last may be what the next batch is made
// of.
TEST(CopyRules, AResultOfTheStepBeforeMayDecideTheBatch) {
  EXPECT_EQ(Look(Sketch({.result_after = true})).Find("copy-unoverlapped"), nullptr);
  const Look late(Sketch({.result_after = true, .looks_late = true}));
  EXPECT_EQ(late.Find("copy-unoverlapped"), nullptr);
  // Of a single step the one before it is its own repetition.
  EXPECT_NE(Look(Sketch({.steps = 1})).Find("copy-unoverlapped"), nullptr);
  EXPECT_EQ(Look(Sketch({.result_after = true, .steps = 1})).Find("copy-unoverlapped"), nullptr);
}

TEST(CopyRules, WhatALoaderMakesDoesNotDependOnResults) {
  const Look look(Sketch({.result_after = true, .loaders = 1}));
  const Finding* finding = look.Find("copy-unoverlapped");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->confidence, Confidence::kMedium);
}

// Half of a copy of 2,400 us goes; beside it stand 480 us of kernels.
TEST(CopyRules, ALinkThatIsBusierThanTheDeviceNeedsFewerBytes) {
  const Look look(Sketch({.copy = 2400, .kernel = 120}));
  const Finding* finding = look.Find("transfer-bound");
  ASSERT_NE(finding, nullptr);
  EXPECT_NEAR(*finding->recoverable_ns, 1.2e6, 0.01e6);
  // At most, nothing has to be copied.
  EXPECT_LT(finding->predicted->low_ns, 0.7e6);
  EXPECT_NE(look.Find("copy-unoverlapped"), nullptr);
}

TEST(CopyRules, ALinkThatIsLessBusyThanTheDeviceIsNoBound) {
  EXPECT_EQ(Look(Sketch({.copy = 1400, .kernel = 390})).Find("transfer-bound"), nullptr);
}

TEST(CopyRules, ALinkThatIsBusyForLessThanHalfOfTheStepIsNoBound) {
  const Look look(Sketch({.copy = 1400, .kernel = 20, .between_launches = 380}));
  EXPECT_EQ(look.Find("transfer-bound"), nullptr);
}

// 33 MB take 0.6 ms out of pinned memory: it is not their number that makes the copy long.
TEST(CopyRules, ACopyThatPinnedMemoryMakesShortIsNoBound) {
  const Look look(Sketch({.source = MemoryKind::kPageable, .copy = 2400, .kernel = 120}));
  EXPECT_NE(look.Find("pageable-copy"), nullptr);
  EXPECT_EQ(look.Find("transfer-bound"), nullptr);
}

TEST(CopyRules, TwoLoadersMakeOneBatch) {
  EXPECT_NE(Look(Sketch({.loaders = 2})).Find("copy-unoverlapped"), nullptr);
  // Also where the second one is asked when the first one's part is under way: all of it hides.
  const Look look(Sketch({.loaders = 2, .in_parts = true}));
  const Finding* finding = look.Find("copy-unoverlapped");
  ASSERT_NE(finding, nullptr);
  EXPECT_NEAR(finding->predicted->likely_ns, 2.4e6, 0.03e6);
}

}  // namespace
}  // namespace hone::doctor
