// SPDX-License-Identifier: Apache-2.0
#include "doctor/busiest_line.h"

#include <gtest/gtest.h>

namespace hone::doctor {
namespace {

analyze::Facts Sampled(std::uint64_t busiest, std::uint64_t running) {
  analyze::Facts facts;
  facts.timeline = Known<analyze::Timeline>::Absent("no device work in this trace");
  facts.python = analyze::PythonFacts{};
  facts.python->busiest_line = "rl/env.py(8): Env.step";
  facts.python->busiest_samples = busiest;
  facts.python->running_samples = running;
  return facts;
}

TEST(BusiestLine, NeedsSamplesEnoughAndMuchOfThem) {
  const auto found = FindBusiestLine(Sampled(43, 100), {});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->frame, "rl/env.py(8): Env.step");
  EXPECT_DOUBLE_EQ(found->share, 0.43);
  EXPECT_FALSE(FindBusiestLine(Sampled(4, 8), {}));
  EXPECT_TRUE(FindBusiestLine(Sampled(5, 8), {}));
  EXPECT_FALSE(FindBusiestLine(Sampled(19, 100), {}));
}

TEST(BusiestLine, FindingsThatPredictAGainSayMore) {
  Finding finding;
  finding.id = "input-bound";
  EXPECT_TRUE(FindBusiestLine(Sampled(43, 100), {finding}));
  finding.predicted = replay::Prediction{};
  EXPECT_FALSE(FindBusiestLine(Sampled(43, 100), {finding}));
  finding.id = "observer-effect";  // nothing to do in the program
  EXPECT_TRUE(FindBusiestLine(Sampled(43, 100), {finding}));
}

TEST(BusiestLine, WithADeviceItsTimeCounts) {
  analyze::Facts facts = Sampled(43, 100);
  facts.timeline = analyze::Timeline{};
  EXPECT_FALSE(FindBusiestLine(facts, {}));
}

}  // namespace
}  // namespace hone::doctor
