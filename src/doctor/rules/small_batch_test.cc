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

// 33 of 132 multiprocessors are a quarter, 66 a half: both limits belong to the better side.
TEST(SmallBatch, SeverityByCoverage) {
  const Diagnosis tiny = OfBlocks(32);
  ASSERT_NE(FindingOf(tiny, "small-batch"), nullptr);
  EXPECT_EQ(FindingOf(tiny, "small-batch")->severity, Severity::kHigh);
  const Diagnosis small = OfBlocks(34);
  ASSERT_NE(FindingOf(small, "small-batch"), nullptr);
  EXPECT_EQ(FindingOf(small, "small-batch")->severity, Severity::kMedium);
  EXPECT_EQ(FindingOf(OfBlocks(66), "small-batch"), nullptr);
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
