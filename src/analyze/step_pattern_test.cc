// SPDX-License-Identifier: Apache-2.0
#include <functional>

#include "analyze/steps_fixture_test.h"

namespace hone::analyze {
namespace {

using trace::SliceKind;

class StepPatternTest : public StepsTest {};

// A step of this program: copy, 4 layers of (qkv, attention, mlp), loss, 4 backward layers, adam.
void TransformerStep(StepsTest*, Nanos& at, const std::function<void(Nanos, const char*)>& kernel) {
  kernel(at += 10, "copy");
  for (int layer = 0; layer < 4; ++layer) {
    for (const char* name : {"qkv", "attention", "mlp"}) kernel(at += 10, name);
  }
  kernel(at += 10, "loss");
  for (int layer = 0; layer < 4; ++layer) {
    for (const char* name : {"mlp_bwd", "attention_bwd", "qkv_bwd"}) kernel(at += 10, name);
  }
  kernel(at += 10, "adam");
}

TEST_F(StepPatternTest, RepeatingKernels) {
  Nanos at = 0;
  const auto kernel = [&](Nanos start, const char* name) { Kernel(start, start + 8, name); };
  for (int i = 0; i < 3; ++i) kernel(at += 10, "init");
  for (int step = 0; step < 6; ++step) {
    TransformerStep(this, at, kernel);
    if (step == 2) kernel(at += 10, "log");  // one odd kernel does not break the pattern
  }
  const Steps steps = Find();
  EXPECT_EQ(steps.source, StepSource::kKernelPattern);
  EXPECT_GE(steps.steps.size(), 5U);
  EXPECT_LE(steps.steps.size(), 6U);
  EXPECT_EQ(steps.steps[1].span.length(), 27 * 10);
}

TEST_F(StepPatternTest, SomethingRareDoesNotStretchTheStep) {
  Nanos at = 0;
  const auto kernel = [&](Nanos start, const char* name) { Kernel(start, start + 8, name); };
  for (int step = 0; step < 40; ++step) {
    TransformerStep(this, at, kernel);
    if (step % 10 == 9) kernel(at += 10, "log");
  }
  EXPECT_GE(Find().steps.size(), 38U);
}

TEST_F(StepPatternTest, NoPatternInNoise) {
  std::uint32_t state = 1;
  for (int i = 0; i < 3000; ++i) {
    state = state * 1664525 + 1013904223;
    Kernel(i * 10, i * 10 + 8, "k" + std::to_string(state >> 27));
  }
  const Steps steps = Find();
  EXPECT_EQ(steps.source, StepSource::kNone);
  EXPECT_FALSE(steps.why_none.empty());
  EXPECT_FALSE(steps.stats.has_value());
  EXPECT_EQ(steps.steady_window.hull(), (trace::Interval{0, 29998}));
}

TEST_F(StepPatternTest, TwoRepeatsAreTooFew) {
  Nanos at = 0;
  const auto kernel = [&](Nanos start, const char* name) { Kernel(start, start + 8, name); };
  for (int step = 0; step < 2; ++step) TransformerStep(this, at, kernel);
  EXPECT_EQ(Find().source, StepSource::kNone);
}

TEST_F(StepPatternTest, PatternThatCoversLittleIsNotTheProgram) {
  Nanos at = 0;
  const auto kernel = [&](Nanos start, const char* name) { Kernel(start, start + 8, name); };
  for (int step = 0; step < 5; ++step) TransformerStep(this, at, kernel);
  Kernel(at + 100, at + 5'000, "something_else");
  EXPECT_EQ(Find().source, StepSource::kNone);
}

TEST_F(StepPatternTest, LayersOfOneGraphAreNoSteps) {
  Mark(0, 5, "cudaGraphLaunch", SliceKind::kApi);
  builder_.trace().host.id[0] = 77;
  for (int layer = 0; layer < 10; ++layer) {
    int k = 0;
    for (const char* name : {"norm", "qkv", "attention", "out", "mlp"}) {
      const Nanos start = 10 + layer * 50 + 10 * k++;
      builder_.Add(trace::WorkInput{.start_ns = start,
                                    .duration_ns = 8,
                                    .name = builder_.Intern(name),
                                    .stream = builder_.StreamFor(0, 7),
                                    .correlation = 77,
                                    .graph = 0});
    }
  }
  EXPECT_EQ(Find().source, StepSource::kNone);
}

TEST_F(StepPatternTest, OperatorsRepeatWhereThereIsNoDevice) {
  for (int step = 0; step < 5; ++step) {
    int k = 0;
    for (const char* name :
         {"aten::conv2d", "aten::relu", "aten::linear", "aten::backward", "aten::add_"}) {
      const Nanos start = step * 100 + 20 * k++;
      Mark(start, start + 15, name, SliceKind::kOp);
      Mark(start + 1, start + 5, "aten::empty", SliceKind::kOp);  // nested: not part of the pattern
    }
  }
  const Steps steps = Find();
  EXPECT_EQ(steps.source, StepSource::kOpPattern);
  EXPECT_EQ(steps.steps.size(), 5U);
}

}  // namespace
}  // namespace hone::analyze
