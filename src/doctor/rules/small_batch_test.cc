// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "doctor/rules/device_steps_test.h"

namespace hone::doctor {
namespace {

Diagnosis OfBlocks(std::uint32_t blocks, double busy = 0.99) {
  DeviceSteps steps;
  steps.Steps(5, blocks, busy);
  return DiagnoseTrace(steps.Finish());
}

// The same in a device's memory that another batch of this size does not fit into.
Diagnosis WithFullMemory(std::uint32_t blocks) {
  constexpr Bytes kGib = Bytes{1} << 30;
  DeviceSteps steps;
  steps.Steps(5, blocks);
  for (int i = 0; i < 5; ++i) {
    const Nanos start = i * DeviceSteps::kStep;
    steps.Memory(start + 2'000'000, 0x1000, 10 * kGib, 10 * kGib, 10 * kGib);
    steps.Memory(start + 8'000'000, 0x1000, -10 * kGib, 0, 10 * kGib);
  }
  return DiagnoseTrace(steps.Finish());
}

// 66 of 132 multiprocessors are a half, and the limit belongs to the better side.
TEST(SmallBatch, FiresBelowHalfOfTheDevice) {
  EXPECT_NE(FindingOf(OfBlocks(65), "small-batch"), nullptr);
  EXPECT_EQ(FindingOf(OfBlocks(66), "small-batch"), nullptr);
}

TEST(SmallBatch, SaysWhatALargerBatchGives) {
  const Diagnosis diagnosis = OfBlocks(32);
  const Finding* finding = FindingOf(diagnosis, "small-batch");
  ASSERT_NE(finding, nullptr);
  ASSERT_TRUE(finding->recoverable_ns.has_value());
  ASSERT_TRUE(finding->speedup.has_value());
  EXPECT_GT(*finding->speedup, 3);
  EXPECT_LT(*finding->speedup, 8);  // a quarter of the device
  EXPECT_EQ(finding->predicted->samples, 16);
  EXPECT_EQ(finding->severity, Severity::kHigh);
  EXPECT_NE(finding->evidence[3].find("predicted with the batch x16: a step of "),
            std::string::npos)
      << finding->evidence[3];
  EXPECT_NE(finding->remedy.find("batch_size=16 * batch_size"), std::string::npos);
}

// Nothing is left to fill, but half of it is for the parameters.
TEST(SmallBatch, OptimizersThatOutweighTheirSamplesAreNamed) {
  const auto with = [](double share) {
    DeviceSteps steps;
    steps.StepsOfAnOptimizer(5, share);
    return DiagnoseTrace(steps.Finish());
  };
  const Diagnosis half = with(0.5);
  const Finding* finding = FindingOf(half, "small-batch");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->title,
            "the optimizer takes 50.0 % of the device's time: the batch is too small for the "
            "model");
  ASSERT_TRUE(finding->speedup.has_value());
  EXPECT_GT(*finding->speedup, 1.6);
  EXPECT_LT(*finding->speedup, 2);
  ASSERT_FALSE(finding->where.empty());
  EXPECT_EQ(finding->where[0].op, "Optimizer.step#AdamW.step");
  EXPECT_EQ(FindingOf(with(0.2), "small-batch"), nullptr);
}

// 33 of 132 multiprocessors are a quarter.
TEST(SmallBatch, WhereNothingIsPredictedCoverageDecides) {
  const Diagnosis tiny = WithFullMemory(32), small = WithFullMemory(34);
  ASSERT_NE(FindingOf(tiny, "small-batch"), nullptr);
  EXPECT_EQ(FindingOf(tiny, "small-batch")->severity, Severity::kHigh);
  EXPECT_EQ(FindingOf(tiny, "small-batch")->recoverable_ns.why_not(),
            "twice the batch would not fit into the device's memory");
  ASSERT_NE(FindingOf(small, "small-batch"), nullptr);
  EXPECT_EQ(FindingOf(small, "small-batch")->severity, Severity::kMedium);
}

TEST(SmallBatch, ADeviceThatWaitsHasAnotherTrouble) {
  EXPECT_EQ(FindingOf(OfBlocks(8, 0.5), "small-batch"), nullptr);
}

// Four kernels of 40 blocks at once fill the device together.
TEST(SmallBatch, KernelsSideBySideFillTheDeviceTogether) {
  DeviceSteps steps;
  for (int i = 0; i < 5; ++i) {
    const Nanos start = i * DeviceSteps::kStep;
    steps.Step(i + 1, start, 40);
    for (int stream = 20; stream < 23; ++stream) {
      steps.Kernel(start + 8'000, 9'900'000, DeviceSteps::kGemm, 0, steps.Grid(40), 0, stream);
    }
  }
  EXPECT_EQ(FindingOf(DiagnoseTrace(steps.Finish()), "small-batch"), nullptr);
}

TEST(SmallBatch, NoGridsNoVerdict) {
  EXPECT_NE(WhyNotChecked(OfBlocks(0), "small-batch").find("0 % of the kernel time says"),
            std::string::npos);
}

}  // namespace
}  // namespace hone::doctor
