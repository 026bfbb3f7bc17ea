// SPDX-License-Identifier: Apache-2.0
#include "analyze/step_scale.h"

#include <gtest/gtest.h>

namespace hone::analyze {
namespace {

Steps FourSteps() {
  Steps steps;
  for (int i = 0; i < 4; ++i) {
    Step step;
    step.span = {i * 1'000'000, (i + 1) * 1'000'000};
    steps.steps.push_back(step);
  }
  return steps;
}

Known<Timeline> Device(Nanos total) {
  Timeline timeline;
  timeline.devices.emplace_back();
  timeline.devices[0].whole.total_ns = total;
  return timeline;
}

TEST(StepScale, SumsArePerStepWhereTheStepsAreTheTrace) {
  EXPECT_EQ(MeasureScale(FourSteps(), Device(4'400'000)).steps, 4U);
  EXPECT_EQ(MeasureScale(FourSteps(), Device(4'500'000)).steps, 0U);
  EXPECT_EQ(MeasureScale(FourSteps(), Known<Timeline>::Absent("no device")).steps, 4U);
}

TEST(StepScale, HalfAPercentIsWorthALine) {
  EXPECT_EQ(MeasureScale(FourSteps(), Device(9'000'000)).least_ns, 20'000);
  EXPECT_EQ(MeasureScale({}, Device(9'000'000)).least_ns, 45'000);
  const StepScale nothing = MeasureScale({}, Known<Timeline>::Absent("no device"));
  EXPECT_EQ(nothing.least_ns, 1);
  EXPECT_EQ(nothing.steps, 0U);
}

}  // namespace
}  // namespace hone::analyze
