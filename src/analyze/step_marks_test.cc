// SPDX-License-Identifier: Apache-2.0
#include "analyze/step_source.h"
#include "analyze/steps_fixture_test.h"

namespace hone::analyze {
namespace {

using trace::SliceKind;

class StepMarksTest : public StepsTest {};

TEST(StepLabel, Names) {
  const auto number = [](const char* name) {
    StepLabel label;
    return ParseStepLabel(name, label) ? label.number : -1;
  };
  EXPECT_EQ(number("ProfilerStep#3"), 3);
  EXPECT_EQ(number("step 12"), 12);
  EXPECT_EQ(number("Step 12/100"), 12);
  EXPECT_EQ(number("iteration_7"), 7);
  EXPECT_EQ(number("Iteration 7"), 7);
  EXPECT_EQ(number("train_step_4"), 4);
  EXPECT_EQ(number("TrainStep4"), 4);
  EXPECT_EQ(number("iter=9"), 9);
  EXPECT_EQ(number("batch: 9"), 9);
  EXPECT_EQ(number("step[5]"), 5);
  EXPECT_EQ(number("micro_batch_2"), -1);
  EXPECT_EQ(number("MicroBatch 2"), -1);
  EXPECT_EQ(number("footstep 2"), -1);
  EXPECT_EQ(number("layer_3"), -1);
  EXPECT_EQ(number("step"), -1);
  EXPECT_EQ(number("12"), -1);
  EXPECT_EQ(number(""), -1);
  EXPECT_EQ(number("step 99999999999999999999"), -1);
  EXPECT_EQ(number("Optimizer.step#Adam.step"), -1);
}

TEST_F(StepMarksTest, LabelsNeedIncreasingNumbersOnOneThread) {
  Mark(0, 10, "step 1");
  Mark(10, 20, "step 1");  // the number repeats
  Mark(0, 10, "iteration 1", SliceKind::kAnnotation, 2);
  Mark(10, 20, "iteration 2", SliceKind::kAnnotation, 3);  // one mark a thread
  EXPECT_EQ(Find().source, StepSource::kNone);
}

TEST_F(StepMarksTest, ThreadWithMostLabelsDecides) {
  Mark(0, 10, "Iteration 1");
  Mark(10, 20, "Iteration 2");
  for (int i = 0; i < 3; ++i) {
    Mark(i * 10, i * 10 + 10, "Iteration " + std::to_string(i), SliceKind::kAnnotation, 2);
  }
  const Steps steps = Find();
  EXPECT_EQ(steps.source, StepSource::kProfilerStep);
  EXPECT_EQ(steps.steps.size(), 3U);
}

TEST_F(StepMarksTest, OptimizerFromEndToEnd) {
  for (int i = 0; i < 4; ++i) Mark(100 * i + 80, 100 * i + 90, "Optimizer.step#SGD.step");
  const Steps steps = Find();
  EXPECT_EQ(steps.source, StepSource::kOptimizer);
  ASSERT_EQ(steps.steps.size(), 3U);
  EXPECT_EQ(steps.steps[0].span, (trace::Interval{90, 190}));
}

TEST_F(StepMarksTest, TwoOptimizersAreOneIteration) {
  for (int i = 0; i < 5; ++i) {
    Mark(100 * i, 100 * i + 10, "Optimizer.step#Adam.step");
    Mark(100 * i + 50, 100 * i + 60, "Optimizer.step#SGD.step");
  }
  const Steps steps = Find();
  ASSERT_EQ(steps.steps.size(), 4U);
  EXPECT_EQ(steps.steps[0].span, (trace::Interval{10, 110}));
}

TEST_F(StepMarksTest, TwoOptimizersOfOneClassAreToldApartByTheirOperators) {
  for (int i = 0; i < 5; ++i) {
    AdamStep(100 * i, 12, 6);
    AdamStep(100 * i + 50, 12, 2);
  }
  EXPECT_EQ(Find().steps.size(), 4U);
}

// Of one class, with equally many parameters, one backward pass for both.
TEST_F(StepMarksTest, OptimizersThatStepOneAfterTheOtherAreOneIteration) {
  for (int i = 0; i < 5; ++i) {
    Operators(100 * i, 12);
    Mark(100 * i + 20, 100 * i + 30, "AddmmBackward0", SliceKind::kOp, 2);
    Mark(100 * i + 40, 100 * i + 50, "Optimizer.step#Adam.step");
    Operators(100 * i + 41, 6);
    Mark(100 * i + 60, 100 * i + 70, "Optimizer.step#Adam.step");
    Operators(100 * i + 61, 6);
  }
  const Steps steps = Find();
  ASSERT_EQ(steps.steps.size(), 4U);
  EXPECT_EQ(steps.steps[0].span, (trace::Interval{70, 170}));
}

// The pass is inside of the step.
TEST_F(StepMarksTest, ARecordingThatEndsBetweenTwoOptimizersKeepsItsSteps) {
  for (int i = 0; i < 7; ++i) {
    Mark(100 * i + 20, 100 * i + 30, "AddmmBackward0", SliceKind::kOp, 2);
    Mark(100 * i + 40, 100 * i + 50, "Optimizer.step#Adam.step");
    if (i < 6) Mark(100 * i + 60, 100 * i + 70, "Optimizer.step#SGD.step");
  }
  const Steps steps = Find();
  EXPECT_EQ(steps.source, StepSource::kOptimizer);
  ASSERT_EQ(steps.steps.size(), 5U);
  EXPECT_EQ(steps.steps[4].span.end_ns, 570);
}

TEST_F(StepMarksTest, AClosureRunsTheBackwardPass) {
  for (int i = 0; i < 5; ++i) {
    Mark(100 * i, 100 * i + 90, "Optimizer.step#LBFGS.step");
    Mark(100 * i + 20, 100 * i + 30, "autograd::engine::evaluate_function: MulBackward0",
         SliceKind::kOp);
  }
  EXPECT_EQ(Find().steps.size(), 4U);
}

// An optimizer for each of eight parameters, which steps in a hook when its gradient is there; the
// recording ends in the middle of a pass.
TEST_F(StepMarksTest, OptimizersInsideOfThePassStepOnceAPass) {
  for (int i = 0; i < 6; ++i) {
    Mark(1000 * i, 1000 * i + 50, "aten::linear", SliceKind::kOp, 1, 100 + i);
    for (int parameter = 0; parameter < (i == 5 ? 3 : 8); ++parameter) {
      const Nanos at = 1000 * i + 100 * (parameter + 1);
      Mark(at, at + 30, "autograd::engine::evaluate_function: AddmmBackward0", SliceKind::kOp);
      Mark(at + 40, at + 90, "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad",
           SliceKind::kOp);
      Mark(at + 50, at + 80, "Optimizer.step#Adam.step");
    }
  }
  const Steps steps = Find();
  EXPECT_EQ(steps.source, StepSource::kOptimizer);
  ASSERT_EQ(steps.steps.size(), 4U);  // between the ends of five
  for (const Step& step : steps.steps) EXPECT_EQ(step.span.length(), 1000);
}

// An actor and its critic, both of three layers: each has a backward pass.
TEST_F(StepMarksTest, EqualOptimizersAreToldApartByTheWorkBeforeThem) {
  for (int i = 0; i < 8; ++i) {
    AdamStep(100 * i, 20 + i % 2, 6);
    AdamStep(100 * i + 50, 12, 6);
  }
  EXPECT_EQ(Find().steps.size(), 7U);
}

// Five steps of the critic for one of the generator.
TEST_F(StepMarksTest, UnequalTurnsOfTwoOptimizersAreOneIteration) {
  for (int i = 0; i < 5; ++i) {
    for (int turn = 0; turn < 6; ++turn) {
      const Nanos at = 600 * i + 100 * turn;
      Operators(at, turn == 5 ? 9 : 20);
      Mark(at + 40, at + 60, "Optimizer.step#Adam.step");
      Operators(at + 41, turn == 5 ? 10 : 4);
    }
  }
  EXPECT_EQ(Find().steps.size(), 4U);
}

// Every fifth step the recorder asks for a buffer, or the optimizer moves its slow weights.
TEST_F(StepMarksTest, WhatAnOptimizerDoesEverySoOftenIsNoCycle) {
  for (const bool own_work : {false, true}) {
    for (int i = 0; i < 25; ++i) {
      Operators(100 * i, 20 + i % 2);  // a flip of every other image
      Mark(100 * i + 50, 100 * i + 90, "Optimizer.step#Adam.step");
      Operators(100 * i + 51, own_work && i % 5 == 4 ? 12 : 6);
      if (i % 5 == 4) {
        Mark(100 * i + 70, 100 * i + 71, "Activity Buffer Request", SliceKind::kOverhead);
        Mark(100 * i + 72, 100 * i + 73, "cudaMalloc", SliceKind::kApi);
      }
    }
    EXPECT_EQ(Find().steps.size(), 24U) << own_work;
    builder_ = trace::Builder();
  }
}

TEST_F(StepMarksTest, FirstStepsThatAskTheDriverForMemoryAreNoCycle) {
  for (int i = 0; i < 30; ++i) {
    Mark(100 * i, 100 * i + 50, "Optimizer.step#Adam.step");
    // Up to the tenth step its allocations come and go; then every step is the same.
    for (int call = 0; i < 10 && call < i % 3; ++call) {
      Mark(100 * i + 10 * call + 1, 100 * i + 10 * call + 5, "cudaMalloc", SliceKind::kApi);
    }
  }
  const Steps steps = Find();
  EXPECT_EQ(steps.source, StepSource::kOptimizer);
  EXPECT_EQ(steps.steps.size(), 29u);
}

// hone.step() wins over what the optimizer says; the part before the first call is in no step.
TEST_F(StepMarksTest, MarksOfTheProgramItself) {
  for (int i = 0; i < 4; ++i) {
    Mark(i * 100 + 50, i * 100 + 60, "Optimizer.step#SGD.step");
    builder_.AddInstant(i * 100 + 70, builder_.Intern("hone.step#" + std::to_string(i + 8)),
                        UINT16_MAX);
  }
  builder_.AddInstant(5, builder_.Intern("[OutOfMemory]"), UINT16_MAX);
  const Steps steps = Find();
  EXPECT_EQ(steps.source, StepSource::kMark);
  ASSERT_EQ(steps.steps.size(), 3U);
  EXPECT_EQ(steps.steps[0].span, (trace::Interval{70, 170}));
  EXPECT_EQ(steps.steps[2].number, 11);
}

// One call says nothing: the next source is asked.
TEST_F(StepMarksTest, ASingleMarkIsNoStep) {
  builder_.AddInstant(10, builder_.Intern("hone.step#1"), UINT16_MAX);
  for (int i = 0; i < 3; ++i) Mark(i * 100 + 50, i * 100 + 60, "Optimizer.step#SGD.step");
  EXPECT_EQ(Find().source, StepSource::kOptimizer);
}

TEST_F(StepMarksTest, CallsOfHoneStepThatDoNotFollowEachOtherMakeNoStep) {
  for (const int number : {1, 2, 3, 10, 11}) {
    builder_.AddInstant(number * 100, builder_.Intern("hone.step#" + std::to_string(number)),
                        UINT16_MAX);
  }
  Mark(100, 110, "aten::mm", SliceKind::kOp);
  const Steps steps = Find();
  ASSERT_EQ(steps.steps.size(), 3U);
  EXPECT_EQ(steps.stats->max_ns, 100);
  ASSERT_EQ(steps.holes.size(), 1U);
  EXPECT_EQ(steps.holes[0].length_ns, 700);
}

// Labels with parts of the same name: several hold others, so those inside are parts.
TEST_F(StepMarksTest, PartsOfLabelsAreNoStepsButOneLabelAroundAllIsNone) {
  for (int i = 1; i <= 3; ++i) {
    Mark(i * 100, i * 100 + 100, "step " + std::to_string(i));
    for (int part = 7; part < 9; ++part) {
      Mark(i * 100 + part, i * 100 + part + 1, "step " + std::to_string(part));
    }
  }
  EXPECT_EQ(Find().steps.size(), 3U);
  builder_ = trace::Builder();
  Mark(0, 1'000, "step 9");
  for (int i = 1; i <= 3; ++i) Mark(i * 100, i * 100 + 100, "step " + std::to_string(i));
  const Steps steps = Find();
  EXPECT_EQ(steps.steps.size(), 3U);
  EXPECT_EQ(steps.enclosing.count, 1U);
  EXPECT_EQ(steps.enclosing.length_ns, 1'000);
}

}  // namespace
}  // namespace hone::analyze
