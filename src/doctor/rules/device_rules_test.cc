// SPDX-License-Identifier: Apache-2.0
// gpu-throttled, straggler and healthy.
#include <gtest/gtest.h>

#include "doctor/rules/device_steps_test.h"

namespace hone::doctor {
namespace {

trace::Trace Scaled(const std::vector<double>& scale, double longer = 1) {
  DeviceSteps steps;
  Nanos at = 0;
  for (std::size_t i = 0; i < scale.size(); ++i) {
    const auto length =
        static_cast<Nanos>(longer * static_cast<double>(DeviceSteps::kStep) * scale[i]);
    steps.Step(static_cast<int>(i) + 1, at, 528, 0.99, length);
    at += length;
  }
  return steps.Finish();
}

TEST(GpuThrottled, TheSameKernelsGrowSlower) {
  const Diagnosis diagnosis = DiagnoseTrace(Scaled({1, 1.03, 1.06, 1.1, 1.13, 1.16}, 100));
  const Finding* finding = FindingOf(diagnosis, "gpu-throttled");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->confidence, Confidence::kMedium);
  EXPECT_EQ(finding->severity, Severity::kMedium);
}

// In under a second the clock may only be settling.
TEST(GpuThrottled, BriefRecordingIsNoAlarm) {
  const Diagnosis diagnosis = DiagnoseTrace(Scaled({1, 1.03, 1.06, 1.1, 1.13, 1.16}));
  const Finding* finding = FindingOf(diagnosis, "gpu-throttled");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->severity, Severity::kLow);
  EXPECT_EQ(finding->confidence, Confidence::kLow);
}

// A third of the clock is more than settling costs as a rule: nobody is told that all is well.
TEST(GpuThrottled, MuchOfTheClockIsSaidInABriefRecordingToo) {
  const Diagnosis diagnosis = DiagnoseTrace(Scaled({1, 1.1, 1.2, 1.3, 1.4, 1.5}));
  const Finding* finding = FindingOf(diagnosis, "gpu-throttled");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->severity, Severity::kMedium);
  EXPECT_EQ(finding->confidence, Confidence::kLow);
  EXPECT_TRUE(finding->recoverable_ns);
  EXPECT_EQ(FindingOf(diagnosis, "healthy"), nullptr);
}

TEST(GpuThrottled, LessThanEightPercentOrUpAndDownIsQuiet) {
  for (const std::vector<double>& scale :
       {std::vector<double>{1, 1.01, 1.02, 1.03, 1.04, 1.05}, {1, 1.2, 1, 1.2, 1, 1.2}}) {
    const Diagnosis diagnosis = DiagnoseTrace(Scaled(scale));
    EXPECT_EQ(FindingOf(diagnosis, "gpu-throttled"), nullptr);
    EXPECT_EQ(WhyNotChecked(diagnosis, "gpu-throttled"), "");
  }
}

// Of NVML's reasons 4 is the power cap, 1 and 2 are idle and clocks that somebody asked for.
TEST(GpuThrottled, ReasonsFromCounters) {
  for (const double reason : {4.0, 3.0}) {
    DeviceSteps steps;
    steps.Steps(5, 528);
    for (int i = 0; i < 10; ++i) {
      steps.builder.AddCounter(i * 5 * kMillisecond + 1, steps.builder.Intern("GPU 0"),
                               steps.builder.Intern("Throttle Reasons"), reason);
    }
    const Diagnosis diagnosis = DiagnoseTrace(steps.Finish());
    EXPECT_EQ(FindingOf(diagnosis, "gpu-throttled") != nullptr, reason == 4.0);
  }
}

// Five steps of 10 ms; `reason` in every sample, and a clock of `mhz` out of 1980.
Diagnosis Held(double reason, double mhz) {
  DeviceSteps steps;
  steps.Steps(5, 528);
  for (int i = 0; i < 500; ++i) {
    const auto put = [&](const char* track, const char* series, double value) {
      steps.builder.AddCounter(i * 100'000 + 1, steps.builder.Intern(track),
                               steps.builder.Intern(series), value);
    };
    put("GPU 0", "throttle_reasons", reason);
    put("GPU 0", "sm_clock_mhz", mhz * (i % 4 == 0 ? 0.9 : 1.0));
    put("GPU 0", "max_sm_clock_mhz", 1980);
    put("machine", "throttled_usec", 1e6);
  }
  return DiagnoseTrace(steps.Finish());
}

TEST(GpuThrottled, PowerLimitUnderFullLoadIsNoFaultOfTheProgram) {
  const Diagnosis diagnosis = Held(4, 1600);
  const Finding* finding = FindingOf(diagnosis, "gpu-throttled");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->title, "the device works as fast as its power limit allows");
  EXPECT_EQ(finding->severity, Severity::kLow);
  EXPECT_FALSE(finding->recoverable_ns);
  EXPECT_EQ(FindingOf(Held(4, 1000), "gpu-throttled")->severity, Severity::kMedium);
}

TEST(GpuThrottled, HeatCostsWhatTheClockLost) {
  const Diagnosis diagnosis = Held(0x20 | 0x4, 1000);
  const Finding* finding = FindingOf(diagnosis, "gpu-throttled");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->title, "the device is held below its clock by the power limit and heat");
  EXPECT_EQ(finding->severity, Severity::kHigh);
  EXPECT_TRUE(finding->recoverable_ns);
}

// Clocks of an idle device, clocks that were asked for, and a processor that is held back.
TEST(GpuThrottled, LowClocksWithoutAReasonAreQuiet) {
  for (const double reason : {0.0, 1.0, 2.0}) {
    const Diagnosis diagnosis = Held(reason, 700);
    EXPECT_EQ(FindingOf(diagnosis, "gpu-throttled"), nullptr) << reason;
    EXPECT_EQ(WhyNotChecked(diagnosis, "gpu-throttled"), "");
  }
}

analyze::SkewFacts Skew(Nanos wait) {
  analyze::SkewFacts skew;
  skew.matched = 50;
  skew.ranks = {{1, 0, 50}, {0, wait, 0}, {2, wait, 0}};
  skew.straggler = 1;
  const auto lost = static_cast<double>(wait) / 5;
  skew.lost = {lost, lost, lost};
  return skew;
}

TEST(Straggler, SeverityByWhatTheOthersWait) {
  DeviceSteps steps;
  steps.Steps(5, 528);
  const trace::Trace trace = steps.Finish();
  const auto severity = [&](Nanos wait_a_step) {
    const analyze::SkewFacts skew = Skew(5 * wait_a_step);
    const Diagnosis diagnosis = DiagnoseTrace(trace, &skew);
    const Finding* finding = FindingOf(diagnosis, "straggler");
    return finding == nullptr ? Severity::kInfo : finding->severity;
  };
  EXPECT_EQ(severity(3 * kMillisecond), Severity::kHigh);
  EXPECT_EQ(severity(kMillisecond), Severity::kMedium);
  EXPECT_EQ(severity(3 * kMillisecond / 10), Severity::kLow);
  EXPECT_EQ(severity(kMillisecond / 20), Severity::kInfo);  // half a percent of the step
}

TEST(Straggler, AJobOfOneRankHasNone) {
  DeviceSteps steps;
  steps.Steps(5, 528);
  EXPECT_EQ(WhyNotChecked(DiagnoseTrace(steps.Finish()), "straggler"), "");
  DeviceSteps one_of_two;
  one_of_two.Steps(5, 528);
  one_of_two.builder.trace().info.world_size = 2;
  EXPECT_NE(WhyNotChecked(DiagnoseTrace(one_of_two.Finish()), "straggler"), "");
}

TEST(Healthy, OnlyWhereTheDeviceIsBusy) {
  DeviceSteps busy, idle;
  busy.Steps(5, 528);
  idle.Steps(5, 528, 0.7);
  const Diagnosis healthy = DiagnoseTrace(busy.Finish());
  ASSERT_NE(FindingOf(healthy, "healthy"), nullptr);
  EXPECT_NE(FindingOf(healthy, "healthy")->evidence[0].find("matrix kernels take 66.7 %"),
            std::string::npos);
  EXPECT_EQ(FindingOf(DiagnoseTrace(idle.Finish()), "healthy"), nullptr);
}

}  // namespace
}  // namespace hone::doctor
