// SPDX-License-Identifier: Apache-2.0
#include "diff/gate.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace hone::diff {
namespace {

std::string ErrorOf(const char* text) {
  const auto conditions = ParseConditions(text);
  return conditions ? "" : conditions.error().message();
}

Diff Steps(Nanos before, Nanos after, Verdict verdict) {
  Diff diff;
  StepChange step;
  step.before_steps = step.after_steps = 10;
  step.before_ns = before;
  step.after_ns = after;
  step.verdict = verdict;
  step.range = verdict == Verdict::kUnsure ? Known<DifferenceRange>::Absent("1 steady step")
                                           : Known<DifferenceRange>(DifferenceRange{});
  diff.step = step;
  return diff;
}

GateState StateOf(const char* text, const Diff& diff) {
  return Judge((*ParseConditions(text))[0], diff).state;
}

TEST(Gate, ReadsAmountsAndUnits) {
  const auto conditions = ParseConditions("slower=3%,memory=512MiB,kernels=50,slower=1.5ms");
  ASSERT_TRUE(conditions);
  ASSERT_EQ(conditions->size(), 4U);
  EXPECT_TRUE((*conditions)[0].relative);
  EXPECT_DOUBLE_EQ((*conditions)[0].amount, 0.03);
  EXPECT_FALSE((*conditions)[1].relative);
  EXPECT_DOUBLE_EQ((*conditions)[1].amount, 512.0 * 1024 * 1024);
  EXPECT_EQ((*conditions)[2].metric, Metric::kKernels);
  EXPECT_DOUBLE_EQ((*conditions)[3].amount, 1.5e6);
}

TEST(Gate, SaysWhatWasMeant) {
  EXPECT_EQ(ErrorOf("slwer=3%"),
            "--fail-if knows no slwer, did you mean slower?; one of slower, memory, reserved, "
            "kernels, launches, each with =AMOUNT");
  EXPECT_EQ(ErrorOf("slower"), "--fail-if slower: expected slower=3% or 5ms (us, ms, s)");
  EXPECT_EQ(ErrorOf("slower=3"), "--fail-if slower=3: expected slower=3% or 5ms (us, ms, s)");
  EXPECT_EQ(ErrorOf("memory=5ms"),
            "--fail-if memory=5ms: expected memory=5% or 512MiB (KiB, MiB, GiB)");
  for (const char* wrong : {"", "slower=-3%", "slower=nan%", "slower=inf%", "slower=3%,", "=3%",
                            "kernels=5x", "slower=%", "slower=3%%"}) {
    EXPECT_NE(ErrorOf(wrong), "") << wrong;
  }
}

TEST(Gate, TheStepMustBeSlowerByMoreThanAskedAndThanNoise) {
  EXPECT_EQ(StateOf("slower=3%", Steps(100, 105, Verdict::kSlower)), GateState::kFailed);
  EXPECT_EQ(StateOf("slower=3%", Steps(100, 105, Verdict::kWithinNoise)), GateState::kPassed);
  EXPECT_EQ(StateOf("slower=3%", Steps(100, 103, Verdict::kSlower)), GateState::kPassed);
  EXPECT_EQ(StateOf("slower=3%", Steps(100, 50, Verdict::kFaster)), GateState::kPassed);
  EXPECT_EQ(StateOf("slower=0%", Steps(100, 102, Verdict::kSlower)), GateState::kFailed);
  EXPECT_EQ(StateOf("slower=0%", Steps(100, 100, Verdict::kWithinNoise)), GateState::kPassed);
}

TEST(Gate, TooFewStepsNeitherPassNorFailWhatGrew) {
  EXPECT_EQ(StateOf("slower=3%", Steps(100, 105, Verdict::kUnsure)), GateState::kUnknown);
  EXPECT_EQ(StateOf("slower=3%", Steps(100, 99, Verdict::kUnsure)), GateState::kPassed);
  Diff diff;
  diff.step = Known<StepChange>::Absent("no steps in either recording");
  const GateResult result = Judge((*ParseConditions("slower=3%"))[0], diff);
  EXPECT_EQ(result.state, GateState::kUnknown);
  EXPECT_EQ(result.why, "no steps in either recording");
}

TEST(Gate, MeansAreNamedAndMayNotBeTold) {
  Diff diff = Steps(1'000'000, 2'000'000, Verdict::kSlower);
  diff.step->by_mean = true;
  const Condition slower = (*ParseConditions("slower=3%"))[0];
  EXPECT_EQ(Judge(slower, diff).why,
            "the mean step went from 1.00 ms to 2.00 ms (+100 %), beyond noise");
  diff.step->verdict = Verdict::kUnsure;
  const GateResult unsure = Judge(slower, diff);
  EXPECT_EQ(unsure.state, GateState::kUnknown);
  EXPECT_EQ(
      unsure.why,
      "the mean step went from 1.00 ms to 2.00 ms (+100 %), but steps differ too much to tell");
}

TEST(Gate, CountsAndBytesAreComparedAsTheyAre) {
  Diff diff;
  diff.figures.push_back({"kernels", "kernels a step", FigureUnit::kCount, 100.0, 120.0});
  diff.figures.push_back({"memory_peak_bytes", "peak memory", FigureUnit::kBytes,
                          Known<double>::Absent("profile_memory was off"), 1e9});
  EXPECT_EQ(StateOf("kernels=10%", diff), GateState::kFailed);
  EXPECT_EQ(StateOf("kernels=20%", diff), GateState::kPassed);
  EXPECT_EQ(StateOf("kernels=19", diff), GateState::kFailed);
  const GateResult memory = Judge((*ParseConditions("memory=5%"))[0], diff);
  EXPECT_EQ(memory.state, GateState::kUnknown);
  EXPECT_EQ(memory.why, "peak memory: profile_memory was off (first recording)");
}

}  // namespace
}  // namespace hone::diff
