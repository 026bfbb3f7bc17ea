// SPDX-License-Identifier: Apache-2.0
#include "replay/edits/batch_steps_test.h"
#include "replay/edits/edits.h"
#include "replay/replayed_test.h"

namespace hone::replay {
namespace {

// Steps full of products of so many blocks.
std::vector<BatchKernel> Products(std::uint32_t blocks) {
  return std::vector<BatchKernel>(8, {.blocks = blocks, .ns = 1'240'000});
}

std::string WhyNot(const Batched& batched) {
  const FoundEdit edit = FindSmallBatch(batched.model());
  return edit ? "it applies" : edit.why_not();
}

TEST(SmallBatchEdit, TheTimeIsForTheRecordedSamples) {
  const Batched batched(std::move(BatchSteps().Steps(Products(8))));
  const WhatIf whatif(batched.model());
  const Prediction step = whatif.Predict({"small-batch"});
  EXPECT_EQ(step.samples, 16);
  EXPECT_LT(step.likely_ns, whatif.bare().likely_ns / 10);
  // The larger step takes longer than the recorded one, and surely less than sixteen of them.
  EXPECT_GT(step.larger_step_ns(), whatif.bare().likely_ns);
  EXPECT_LT(step.larger_step_ns(), 1.6 * whatif.bare().likely_ns);
  EXPECT_LT(step.low_ns, step.likely_ns);
  EXPECT_GT(step.high_ns, step.likely_ns);
  const double likely = whatif.bare().likely_ns - step.likely_ns;
  EXPECT_GT(whatif.SureGain({"small-batch"}), 0.5 * likely);
  EXPECT_LE(whatif.SureGain({"small-batch"}), likely);
  EXPECT_EQ(whatif.bare().samples, 1);
}

TEST(SmallBatchEdit, SaysTheFactorAndTheLargerStep) {
  const Batched batched(std::move(BatchSteps().Steps(Products(8))));
  const FoundEdit edit = FindSmallBatch(batched.model());
  ASSERT_TRUE(edit.has_value()) << edit.why_not();
  const std::string scope = (*edit)->Scope(batched.model());
  EXPECT_TRUE(scope.starts_with("the batch x16: a step of ")) << scope;
  EXPECT_TRUE(scope.ends_with(" ms does the work of sixteen")) << scope;
}

// Half of the device: twice the batch is nearly free, four times hardly better.
TEST(SmallBatchEdit, ADoublingMustGiveSomething) {
  const Batched batched(std::move(BatchSteps().Steps(Products(110))));
  const WhatIf whatif(batched.model());
  const double times = whatif.Predict({"small-batch"}).samples;
  EXPECT_GT(times, 1);
  EXPECT_LT(times, 16);
  const FoundEdit edit = FindSmallBatch(batched.model());
  ASSERT_TRUE(edit.has_value());
  EXPECT_NE((*edit)->Scope(batched.model()).find("would give less than 5 % more"),
            std::string::npos);
}

TEST(SmallBatchEdit, AFullDeviceHasNoRoom) {
  const Batched batched(std::move(BatchSteps().Steps(Products(1320))));
  EXPECT_TRUE(WhyNot(batched).starts_with("kernels fill the device: twice the batch would take "))
      << WhyNot(batched);
}

TEST(SmallBatchEdit, NoGridsNoPrediction) {
  const Batched batched(std::move(BatchSteps().Steps(Products(0))));
  EXPECT_TRUE(WhyNot(batched).starts_with("0 % of the kernel time says")) << WhyNot(batched);
}

// 1 GiB between steps of 16 GiB, `peak` inside.
Batched Holding(Bytes peak) {
  constexpr Bytes kGib = Bytes{1} << 30;
  BatchSteps steps;
  steps.Steps(Products(8));
  steps.Memory(1'000, 0x1000, kGib, kGib, kGib);
  for (int s = 0; s < 4; ++s) {
    const Nanos start = s * BatchSteps::kStep;
    steps.Memory(start + 2'000'000, 0x2000, peak - kGib, peak, peak);
    steps.Memory(start + 8'000'000, 0x2000, kGib - peak, kGib, peak);
  }
  return Batched(std::move(steps));
}

TEST(SmallBatchEdit, MemoryLimitsTheBatch) {
  constexpr Bytes kGib = Bytes{1} << 30;
  const auto times = [](const Batched& batched) {
    return WhatIf(batched.model()).Predict({"small-batch"}).samples;
  };
  EXPECT_EQ(times(Holding(kGib + kGib / 2)), 16);
  const Batched some = Holding(3 * kGib);  // 1 + 4 * 2 GiB fit, 1 + 8 * 2 do not
  EXPECT_EQ(times(some), 4);
  EXPECT_NE((*FindSmallBatch(some.model()))->Scope(some.model()).find("x8 would not fit"),
            std::string::npos);
  EXPECT_EQ(WhyNot(Holding(10 * kGib)), "twice the batch would not fit into the device's memory");
}

// Code of the host is paid once for all samples.
TEST(SmallBatchEdit, ComposesWithWhatShortensTheHost) {
  const Batched batched(
      std::move(BatchSteps().Steps(std::vector<BatchKernel>(40, {.blocks = 8, .ns = 3'000}))));
  const WhatIf whatif(batched.model());
  const Prediction larger = whatif.Predict({"small-batch"});
  const Prediction both = whatif.Predict({"launch-bound", "small-batch"});
  ASSERT_TRUE(whatif.Find("launch-bound"));
  EXPECT_EQ(both.samples, larger.samples);
  EXPECT_LT(both.likely_ns, larger.likely_ns);
  EXPECT_LT(both.likely_ns, whatif.Predict({"launch-bound"}).likely_ns);
}

// 2 ms of loading, 100 us of copying and 1 ms of a full device; the host launches and waits.
TEST(SmallBatchEdit, LoadingAndCopyingGrow) {
  TraceSketch sketch;
  MarkSteps(sketch, 4, 4000);
  trace::Builder& builder = sketch.builder();
  for (int i = 0; i < 4; ++i) {
    const double at = 1000 + i * 4000.0;
    sketch.Annotation("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at, at + 2000);
    sketch.Call("cudaMemcpyAsync", at + 2010, at + 2015, 2 * i + 1);
    sketch.Copy(at + 2020, at + 2120, 2 * i + 1, trace::CopyDirection::kHostToDevice,
                trace::MemoryKind::kPinned, trace::MemoryKind::kDevice, 5'000'000);
    sketch.Op("aten::mm", at + 2130, at + 2140).Launch(at + 2132, 2 * i + 2);
    sketch.Kernel(at + 2140, at + 2640, 2 * i + 2, 7, kGemm);
    sketch.Call("cudaDeviceSynchronize", at + 2150, at + 2650);
  }
  trace::Device& device = builder.trace().devices[builder.DeviceFor(0)];
  device.sm_count = 132;
  trace::LaunchConfig launch;
  launch.grid[0] = 8;
  launch.grid[1] = launch.grid[2] = launch.block[1] = launch.block[2] = 1;
  launch.block[0] = 256;
  const std::uint32_t row = builder.Launch(launch);
  for (std::size_t w = 0; w < builder.trace().device.size(); ++w) {
    if (builder.trace().device.kind[w] == trace::WorkKind::kKernel) {
      builder.trace().device.launch[w] = row;
    }
  }
  const Replayed r(std::move(sketch));
  const FoundEdit edit = FindSmallBatch(r.model());
  ASSERT_TRUE(edit.has_value()) << edit.why_not();
  Plan plan(r.graph());
  (*edit)->Apply(r.model(), Guess::kLikely, plan);
  std::size_t loads = 0, copies = 0, others = 0;
  for (TaskId t = 0; t < r.graph().tasks.size(); ++t) {
    const Task& task = r.At(t);
    const double ratio = static_cast<double>(plan.duration_ns[t]) /
                         static_cast<double>(std::max<Nanos>(task.duration_ns, 1));
    if (task.kind == TaskKind::kInput && task.duration_ns > 0) {
      EXPECT_DOUBLE_EQ(ratio, plan.samples);
      ++loads;
    } else if (task.kind == TaskKind::kCopy) {
      EXPECT_NEAR(ratio, plan.samples, 0.05 * plan.samples);
      ++copies;
    } else if (task.kind == TaskKind::kHost || task.kind == TaskKind::kLaunch) {
      EXPECT_EQ(plan.duration_ns[t], task.duration_ns);
      ++others;
    }
  }
  // Batches that workers make take as much longer, whoever waits for them.
  Plan workers(r.graph());
  (*FindInputBound(r.model()))->Apply(r.model(), Guess::kLikely, workers);
  const std::vector<Nanos> made = workers.apart_ns;
  (*edit)->Apply(r.model(), Guess::kLikely, workers);
  for (TaskId t = 0; t < made.size(); ++t) {
    EXPECT_NEAR(static_cast<double>(workers.apart_ns[t]),
                workers.samples * static_cast<double>(made[t]), 1);
  }
  EXPECT_GT(*std::max_element(made.begin(), made.end()), 0);
  EXPECT_GT(plan.samples, 1);
  EXPECT_GE(loads, 3U);
  EXPECT_GE(copies, 3U);
  EXPECT_GT(others, 0U);
}

}  // namespace
}  // namespace hone::replay
