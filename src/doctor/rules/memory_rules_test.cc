// SPDX-License-Identifier: Apache-2.0
// memory-growth and fragmentation.
#include <gtest/gtest.h>

#include "doctor/rules/device_steps_test.h"

namespace hone::doctor {
namespace {

constexpr Bytes kMiB = 1 << 20, kGiB = 1 << 30;

// Each step allocates its number of bytes inside aten::add and keeps it; negative: frees one.
trace::Trace Growing(const std::vector<Bytes>& by_step, Bytes base = 4 * kGiB,
                     Bytes reserved = 5 * kGiB) {
  DeviceSteps steps;
  steps.Steps(static_cast<int>(by_step.size()), 528);
  Bytes allocated = base;
  std::uint64_t address = 1;
  for (std::size_t i = 0; i < by_step.size(); ++i) {
    allocated += by_step[i];
    if (by_step[i] > 0) ++address;
    steps.Memory(static_cast<Nanos>(i) * DeviceSteps::kStep + 15'000, address, by_step[i],
                 allocated, reserved);
  }
  return steps.Finish();
}

TEST(MemoryGrowth, SaysHowManyStepsAreLeftAndWhoKeepsIt) {
  const trace::Trace trace = Growing({40 * kMiB, 40 * kMiB, 40 * kMiB, 40 * kMiB, 40 * kMiB});
  const Diagnosis diagnosis = DiagnoseTrace(trace);
  const Finding* finding = FindingOf(diagnosis, "memory-growth");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->severity, Severity::kHigh);  // (16 GiB − 4.2 GiB) / 40 MiB = 302
  EXPECT_NE(finding->evidence[1].find("302 more steps"), std::string::npos);
  ASSERT_FALSE(finding->where.empty());
  EXPECT_EQ(finding->where[0].op, "aten::add");
  // What the last step allocated may be its own need.
  EXPECT_NE(finding->evidence[2].find("160 MiB"), std::string::npos);
}

TEST(MemoryGrowth, OneStepThatGivesBackIsNoGrowth) {
  const trace::Trace trace =
      Growing({40 * kMiB, 40 * kMiB, -40 * kMiB, 40 * kMiB, 40 * kMiB, 40 * kMiB});
  EXPECT_EQ(FindingOf(DiagnoseTrace(trace), "memory-growth"), nullptr);
}

TEST(MemoryGrowth, AThousandthOfWhatIsAllocatedIsTheLeast) {
  const std::vector<Bytes> by_step(5, 3 * kMiB);
  EXPECT_EQ(FindingOf(DiagnoseTrace(Growing(by_step)), "memory-growth"), nullptr);
  EXPECT_NE(FindingOf(DiagnoseTrace(Growing(by_step, kGiB)), "memory-growth"), nullptr);
}

TEST(MemoryGrowth, ThreeStepsAreTooFew) {
  const Diagnosis diagnosis = DiagnoseTrace(Growing({40 * kMiB, 40 * kMiB, 40 * kMiB}));
  EXPECT_NE(WhyNotChecked(diagnosis, "memory-growth").find("has 3"), std::string::npos);
}

TEST(Fragmentation, BySizeAndByShareOfTheDevice) {
  const std::vector<Bytes> still(4, 0);
  const auto severity = [&](Bytes allocated, Bytes reserved) {
    std::vector<Bytes> by_step = still;
    by_step[0] = kMiB;
    const Diagnosis diagnosis = DiagnoseTrace(Growing(by_step, allocated - kMiB, reserved));
    const Finding* finding = FindingOf(diagnosis, "fragmentation");
    return finding == nullptr ? Severity::kInfo : finding->severity;
  };
  EXPECT_EQ(severity(9 * kGiB, 15 * kGiB), Severity::kHigh);    // 94 % of the device reserved
  EXPECT_EQ(severity(6 * kGiB, 10 * kGiB), Severity::kMedium);  // a quarter of it unused
  EXPECT_EQ(severity(2 * kGiB, 4 * kGiB), Severity::kLow);
  EXPECT_EQ(severity(400 * kMiB, 900 * kMiB), Severity::kInfo);  // half unused, but 500 MiB
  EXPECT_EQ(severity(11 * kGiB, 15 * kGiB), Severity::kInfo);    // 4 GiB, but 27 %
}

}  // namespace
}  // namespace hone::doctor
