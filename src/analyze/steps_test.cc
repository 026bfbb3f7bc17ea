// SPDX-License-Identifier: Apache-2.0
#include "analyze/steps.h"

#include <gtest/gtest.h>

#include <functional>

#include "analyze/step_source.h"
#include "trace/builder.h"

namespace hone::analyze {
namespace {

using trace::SliceKind;

class StepsTest : public testing::Test {
 protected:
  void Mark(Nanos start, Nanos end, const std::string& name,
            SliceKind kind = SliceKind::kAnnotation, std::int64_t tid = 1) {
    builder_.Add(trace::SliceInput{.start_ns = start,
                                   .duration_ns = end - start,
                                   .name = builder_.Intern(name),
                                   .kind = kind,
                                   .thread = builder_.ThreadFor(1, tid)});
  }
  void Kernel(Nanos start, Nanos end, const std::string& name, std::int64_t stream = 7,
              std::int64_t correlation = 0) {
    builder_.Add(trace::WorkInput{.start_ns = start,
                                  .duration_ns = end - start,
                                  .name = builder_.Intern(name),
                                  .stream = builder_.StreamFor(0, stream),
                                  .correlation = correlation});
  }
  void Launch(Nanos start, std::int64_t correlation) {
    builder_.Add(trace::SliceInput{.start_ns = start,
                                   .duration_ns = 500,
                                   .name = builder_.Intern("cudaLaunchKernel"),
                                   .kind = SliceKind::kApi,
                                   .thread = builder_.ThreadFor(1, 1),
                                   .id = correlation});
  }
  void Operators(Nanos at, int count) {
    for (int i = 0; i < count; ++i) Mark(at + i, at + i + 1, "aten::add_", SliceKind::kOp);
  }
  // `before` operators, then an optimizer's step of 10 with `inside`; 50 in all.
  void AdamStep(Nanos at, int before, int inside) {
    Operators(at, before);
    Mark(at + 30, at + 40, "Optimizer.step#Adam.step");
    Operators(at + 31, inside);
  }
  Steps Find() {
    trace_ = std::move(builder_).Finish();
    return FindSteps(trace_);
  }
  trace::Builder builder_;
  trace::Trace trace_;
};

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

TEST_F(StepsTest, ProfilerStepsWithWarmUpAndStatistics) {
  // Lengths: 900 | 100 120 110 130 100 (ms of a program that compiles in its first step).
  Nanos at = 0;
  int number = 2;
  for (const Nanos length : {900, 100, 120, 110, 130, 100}) {
    Mark(at, at + length, "ProfilerStep#" + std::to_string(number++));
    at += length;
  }
  const Steps steps = Find();
  EXPECT_EQ(steps.source, StepSource::kProfilerStep);
  ASSERT_EQ(steps.steps.size(), 6U);
  EXPECT_EQ(steps.steps[0].number, 2);
  EXPECT_EQ(steps.warm_up_count, 1U);
  EXPECT_TRUE(steps.steps[0].warm_up);
  EXPECT_EQ(steps.steady_window.hull(), (trace::Interval{900, 1460}));
  ASSERT_TRUE(steps.stats.has_value());
  EXPECT_EQ(steps.stats->count, 5U);
  EXPECT_EQ(steps.stats->median_ns, 110);
  EXPECT_EQ(steps.stats->mean_ns, 112);
  EXPECT_EQ(steps.stats->min_ns, 100);
  EXPECT_EQ(steps.stats->max_ns, 130);
  EXPECT_EQ(steps.stats->p95_ns, 128);  // rank 3.8: 120 + 0.8 * 10
}

TEST_F(StepsTest, SlowStepInTheMiddleIsNoWarmUp) {
  Nanos at = 0;
  for (int i = 0; i < 6; ++i) {
    const Nanos length = i == 1 ? 900 : 100;
    Mark(at, at + length, "ProfilerStep#" + std::to_string(i));
    at += length;
  }
  EXPECT_EQ(Find().warm_up_count, 0U);
}

TEST_F(StepsTest, WarmUpIsNeverMoreThanHalf) {
  Nanos at = 0;
  for (const Nanos length : {900, 800, 700, 100}) {
    Mark(at, at + length, "ProfilerStep#" + std::to_string(at));
    at += length;
  }
  EXPECT_LE(Find().warm_up_count, 2U);
}

TEST_F(StepsTest, CopiesAndOverlapsOfMarks) {
  for (int copy = 0; copy < 25; ++copy) {
    Mark(0, 100, "ProfilerStep#1");
    Mark(99, 200, "ProfilerStep#2");   // begins before the first ends
    Mark(120, 150, "ProfilerStep#7");  // inside another
    Mark(200, 300, "ProfilerStep#3");
  }
  const Steps steps = Find();
  ASSERT_EQ(steps.steps.size(), 3U);
  EXPECT_EQ(steps.steps[0].span, (trace::Interval{0, 99}));
  EXPECT_EQ(steps.steps[1].span, (trace::Interval{99, 200}));
  EXPECT_EQ(steps.steps[2].number, 3);
}

TEST_F(StepsTest, StubAtTheEndIsNoStep) {
  for (int i = 0; i < 4; ++i) {
    Mark(i * 1000, i * 1000 + 1000, "ProfilerStep#" + std::to_string(i));
    for (int k = 0; k < 40; ++k)
      Mark(i * 1000 + k * 10, i * 1000 + k * 10 + 5, "aten::add", SliceKind::kOp);
  }
  Mark(4000, 4020, "ProfilerStep#4");
  Mark(4001, 4002, "aten::add", SliceKind::kOp);
  EXPECT_EQ(Find().steps.size(), 4U);
}

TEST_F(StepsTest, FastLastStepStays) {
  for (int i = 0; i < 5; ++i) {
    const Nanos scale = i == 4 ? 2 : 10;
    const Nanos at = i * 1000;
    Mark(at, at + 100 * scale, "ProfilerStep#" + std::to_string(i));
    for (int k = 0; k < 40; ++k)
      Mark(at + k * scale, at + k * scale + 1, "aten::add", SliceKind::kOp);
  }
  EXPECT_EQ(Find().steps.size(), 5U);
}

TEST_F(StepsTest, LabelsNeedIncreasingNumbersOnOneThread) {
  Mark(0, 10, "step 1");
  Mark(10, 20, "step 1");  // the number repeats
  Mark(0, 10, "iteration 1", SliceKind::kAnnotation, 2);
  Mark(10, 20, "iteration 2", SliceKind::kAnnotation, 3);  // one mark a thread
  EXPECT_EQ(Find().source, StepSource::kNone);
}

TEST_F(StepsTest, ThreadWithMostLabelsDecides) {
  Mark(0, 10, "Iteration 1");
  Mark(10, 20, "Iteration 2");
  for (int i = 0; i < 3; ++i) {
    Mark(i * 10, i * 10 + 10, "Iteration " + std::to_string(i), SliceKind::kAnnotation, 2);
  }
  const Steps steps = Find();
  EXPECT_EQ(steps.source, StepSource::kProfilerStep);
  EXPECT_EQ(steps.steps.size(), 3U);
}

TEST_F(StepsTest, OptimizerFromEndToEnd) {
  for (int i = 0; i < 4; ++i) Mark(100 * i + 80, 100 * i + 90, "Optimizer.step#SGD.step");
  const Steps steps = Find();
  EXPECT_EQ(steps.source, StepSource::kOptimizer);
  ASSERT_EQ(steps.steps.size(), 3U);
  EXPECT_EQ(steps.steps[0].span, (trace::Interval{90, 190}));
}

TEST_F(StepsTest, TwoOptimizersAreOneIteration) {
  for (int i = 0; i < 5; ++i) {
    Mark(100 * i, 100 * i + 10, "Optimizer.step#Adam.step");
    Mark(100 * i + 50, 100 * i + 60, "Optimizer.step#SGD.step");
  }
  const Steps steps = Find();
  ASSERT_EQ(steps.steps.size(), 4U);
  EXPECT_EQ(steps.steps[0].span, (trace::Interval{10, 110}));
}

TEST_F(StepsTest, TwoOptimizersOfOneClassAreToldApartByTheirOperators) {
  for (int i = 0; i < 5; ++i) {
    AdamStep(100 * i, 12, 6);
    AdamStep(100 * i + 50, 12, 2);
  }
  EXPECT_EQ(Find().steps.size(), 4U);
}

// Of one class, with equally many parameters, one backward pass for both.
TEST_F(StepsTest, OptimizersThatStepOneAfterTheOtherAreOneIteration) {
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
TEST_F(StepsTest, AClosureRunsTheBackwardPass) {
  for (int i = 0; i < 5; ++i) {
    Mark(100 * i, 100 * i + 90, "Optimizer.step#LBFGS.step");
    Mark(100 * i + 20, 100 * i + 30, "autograd::engine::evaluate_function: MulBackward0",
         SliceKind::kOp);
  }
  EXPECT_EQ(Find().steps.size(), 4U);
}

// An actor and its critic, both of three layers: each has a backward pass.
TEST_F(StepsTest, EqualOptimizersAreToldApartByTheWorkBeforeThem) {
  for (int i = 0; i < 8; ++i) {
    AdamStep(100 * i, 20 + i % 2, 6);
    AdamStep(100 * i + 50, 12, 6);
  }
  EXPECT_EQ(Find().steps.size(), 7U);
}

// Five steps of the critic for one of the generator.
TEST_F(StepsTest, UnequalTurnsOfTwoOptimizersAreOneIteration) {
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
TEST_F(StepsTest, WhatAnOptimizerDoesEverySoOftenIsNoCycle) {
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

TEST_F(StepsTest, FirstStepsThatAskTheDriverForMemoryAreNoCycle) {
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

TEST_F(StepsTest, RepeatingKernels) {
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

TEST_F(StepsTest, SomethingRareDoesNotStretchTheStep) {
  Nanos at = 0;
  const auto kernel = [&](Nanos start, const char* name) { Kernel(start, start + 8, name); };
  for (int step = 0; step < 40; ++step) {
    TransformerStep(this, at, kernel);
    if (step % 10 == 9) kernel(at += 10, "log");
  }
  EXPECT_GE(Find().steps.size(), 38U);
}

TEST_F(StepsTest, NoPatternInNoise) {
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

TEST_F(StepsTest, TwoRepeatsAreTooFew) {
  Nanos at = 0;
  const auto kernel = [&](Nanos start, const char* name) { Kernel(start, start + 8, name); };
  for (int step = 0; step < 2; ++step) TransformerStep(this, at, kernel);
  EXPECT_EQ(Find().source, StepSource::kNone);
}

TEST_F(StepsTest, PatternThatCoversLittleIsNotTheProgram) {
  Nanos at = 0;
  const auto kernel = [&](Nanos start, const char* name) { Kernel(start, start + 8, name); };
  for (int step = 0; step < 5; ++step) TransformerStep(this, at, kernel);
  Kernel(at + 100, at + 5'000, "something_else");
  EXPECT_EQ(Find().source, StepSource::kNone);
}

TEST_F(StepsTest, LayersOfOneGraphAreNoSteps) {
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

TEST_F(StepsTest, OperatorsRepeatWhereThereIsNoDevice) {
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

// hone.step() wins over what the optimizer says; the part before the first call is in no step.
TEST_F(StepsTest, MarksOfTheProgramItself) {
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
TEST_F(StepsTest, ASingleMarkIsNoStep) {
  builder_.AddInstant(10, builder_.Intern("hone.step#1"), UINT16_MAX);
  for (int i = 0; i < 3; ++i) Mark(i * 100 + 50, i * 100 + 60, "Optimizer.step#SGD.step");
  EXPECT_EQ(Find().source, StepSource::kOptimizer);
}

TEST_F(StepsTest, EmptyTrace) {
  const Steps steps = Find();
  EXPECT_EQ(steps.source, StepSource::kNone);
  EXPECT_TRUE(steps.steady_window.empty());
}

// Four steps of 10 µs on the host, each launching one kernel of 100 µs: the device is the clock.
TEST_F(StepsTest, HostThatRunsAheadIsToldByTheDevice) {
  for (int i = 0; i < 4; ++i) {
    const Nanos at = 1'000'000 + i * 10'000;
    Mark(at, at + 10'000, "ProfilerStep#" + std::to_string(i));
    Launch(at + 1'000, 100 + i);
    Kernel(2'000'000 + i * 100'000, 2'000'000 + i * 100'000 + 99'000, "gemm", 7, 100 + i);
  }
  const Steps steps = Find();
  EXPECT_TRUE(steps.device_clock);
  ASSERT_EQ(steps.steps.size(), 4U);
  EXPECT_EQ(steps.steps[0].span, (trace::Interval{2'000'000, 2'099'000}));
  EXPECT_EQ(steps.steps[3].span, (trace::Interval{2'299'000, 2'399'000}));
  EXPECT_EQ(steps.steps[3].host_span, (trace::Interval{1'030'000, 1'040'000}));
  EXPECT_EQ(steps.stats->median_ns, 100'000);
  EXPECT_EQ(steps.host_window.hull(), (trace::Interval{1'000'000, 1'040'000}));
}

// The device is behind by a constant queue: marks and device agree, the marks stay.
TEST_F(StepsTest, ConstantLagKeepsTheMarks) {
  for (int i = 0; i < 4; ++i) {
    const Nanos at = 1'000'000 + i * 100'000;
    Mark(at, at + 100'000, "ProfilerStep#" + std::to_string(i));
    Launch(at + 1'000, 100 + i);
    Kernel(2'000'000 + i * 100'000, 2'000'000 + i * 100'000 + 99'000, "gemm", 7, 100 + i);
  }
  const Steps steps = Find();
  EXPECT_FALSE(steps.device_clock);
  EXPECT_EQ(steps.steps[1].span, (trace::Interval{1'100'000, 1'200'000}));
}

// The host waits for the device in every fourth step, and runs ahead in the three before it: its
// marks are 10, 10, 10 and 370 us apart, the device takes 100 for each.
TEST_F(StepsTest, AHostThatWaitsNowAndThenIsToldByTheDevice) {
  for (int i = 0; i < 8; ++i) {
    const Nanos cycle = 1'000'000 + i / 4 * 400'000;
    const Nanos at = cycle + i % 4 * 10'000;
    Mark(at, i % 4 == 3 ? cycle + 400'000 : at + 10'000, "ProfilerStep#" + std::to_string(i));
    Launch(at + 1'000, 100 + i);
    const Nanos start = cycle + 2'000 + i % 4 * 99'500;
    Kernel(start, start + 99'500, "gemm", 7, 100 + i);
  }
  const Steps steps = Find();
  EXPECT_TRUE(steps.device_clock);
  ASSERT_EQ(steps.steps.size(), 8U);
  EXPECT_EQ(steps.warm_up_count, 0U);
  EXPECT_EQ(steps.stats->min_ns, 99'500);
  EXPECT_EQ(steps.stats->max_ns, 101'500);  // the device stands idle until the next cycle begins
  EXPECT_EQ(steps.steady_window.hull(), (trace::Interval{1'002'000, 1'800'000}));
}

// The queue of launches has room for a step: the first takes the host 30 us, the others as long as
// the device. A first step that is short by itself stays.
TEST_F(StepsTest, AStepThatOnlyFillsTheQueueIsWarmUp) {
  const auto warm_up = [&](bool queued) {
    builder_ = trace::Builder();
    Nanos at = 1'000'000, busy = 0;
    for (int i = 0; i < 12; ++i) {
      const Nanos length = i == 0 ? 30'000 : 100'000, work = queued || i > 0 ? 99'000 : 20'000;
      Mark(at, at + length, "ProfilerStep#" + std::to_string(i));
      Launch(at + 1'000, 100 + i);
      const Nanos start = std::max(busy, at + 2'000);
      Kernel(start, start + work, "gemm", 7, 100 + i);
      busy = start + work;
      at += length;
    }
    const Steps steps = Find();
    EXPECT_FALSE(steps.device_clock);
    return steps.warm_up_count;
  };
  EXPECT_EQ(warm_up(true), 1U);
  EXPECT_EQ(warm_up(false), 0U);
}

// The host waits in every step. One of them ends 300 us after its work, with a checkpoint: that is
// no queue, and the step is as long as its mark.
TEST_F(StepsTest, AStallOfTheHostIsNoQueue) {
  Nanos at = 1'000'000;
  for (int i = 0; i < 8; ++i) {
    const Nanos end = at + 100'000 + (i == 4 ? 300'000 : 0);
    Mark(at, end, "ProfilerStep#" + std::to_string(i));
    Launch(at + 1'000, 100 + i);
    Kernel(at + 2'000, at + 99'000, "gemm", 7, 100 + i);
    at = end;
  }
  const Steps steps = Find();
  EXPECT_FALSE(steps.device_clock);
  EXPECT_EQ(steps.stats->max_ns, 400'000);
}

// Two runs of two steps; the host waits for the device.
TEST_F(StepsTest, AHoleBelongsToNoStep) {
  for (const int number : {2, 3, 42, 43}) {
    const Nanos at = number * 1'000;
    Mark(at, at + 1'000, "ProfilerStep#" + std::to_string(number));
    Launch(at + 10, number);
    Kernel(at + 600, at + 900, "k", 7, number);
  }
  const Steps steps = Find();
  ASSERT_EQ(steps.steps.size(), 4U);
  EXPECT_FALSE(steps.device_clock);
  EXPECT_EQ(steps.steady_window.length(), 4'000);
  EXPECT_EQ(steps.host_window, steps.steady_window);
  ASSERT_EQ(steps.holes.size(), 1U);
  EXPECT_EQ(steps.holes[0].kind, Before::kOtherSteps);
  EXPECT_EQ(steps.holes[0].length_ns, 38'000);
  EXPECT_EQ(steps.hole_spans.hull(), (trace::Interval{4'000, 42'000}));
}

// The host marks steps of 100 ns and runs ahead of kernels that take 1,000: in each run.
TEST_F(StepsTest, OnTheDeviceClockAHoleBelongsToNoStepEither) {
  Nanos at = 0;
  for (const int number : {2, 3, 4, 42, 43, 44}) {
    if (number == 42) at = 100'000;
    const Nanos run = number < 42 ? 0 : 100'000;
    Mark(at, at + 100, "ProfilerStep#" + std::to_string(number));
    Launch(at + 10, number);
    const Nanos start = run + 50 + 1'000 * (number < 42 ? number - 2 : number - 42);
    Kernel(start, start + 1'000, "k", 7, number);
    at += 100;
  }
  const Steps steps = Find();
  EXPECT_TRUE(steps.device_clock);
  EXPECT_EQ(steps.stats->median_ns, 1'000);
  EXPECT_EQ(steps.stats->max_ns, 1'000);
  EXPECT_EQ(steps.steady_window.length(), 6'000);
}

// Labels of 100 ns, 300 apart, with these numbers.
TEST_F(StepsTest, OddNumbersOfLabelsMakeNoHoles) {
  const auto holes = [&](const std::vector<int>& numbers, const char* name = "iteration ") {
    builder_ = trace::Builder();
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const Nanos at = static_cast<Nanos>(i) * 400;
      Mark(at, at + 100, name + std::to_string(numbers[i]));
      Mark(at + 10, at + 20, "aten::mm", SliceKind::kOp);
    }
    const Steps steps = Find();
    EXPECT_EQ(steps.steps.size(), numbers.size());
    return steps.holes.size();
  };
  EXPECT_EQ(holes({0, 10, 20, 30, 40, 49}), 0U);         // every tenth, and the last
  EXPECT_EQ(holes({32, 64, 96, 128, 160, 176}), 0U);     // samples; the last batch is smaller
  EXPECT_EQ(holes({0, 10, 20, 39, 49}), 0U);             // less than twice as far
  EXPECT_EQ(holes({0, 10, 20, 40, 50}), 1U);             // one is missing
  EXPECT_EQ(holes({3, 9, 10, 31, 40, 41, 60, 90}), 0U);  // numbers of something else
  EXPECT_EQ(holes({1, 2, 9, 10}, "ProfilerStep#"), 1U);  // calls are counted by one
  EXPECT_EQ(holes({1, 10, 20, 30}, "ProfilerStep#"), 3U);
}

TEST_F(StepsTest, CallsThatAreCountedAnewAreNeighboursWhereNoStepHasRoomBetween) {
  const auto holes = [&](Nanos pause) {
    builder_ = trace::Builder();
    for (int i = 0; i < 6; ++i) {
      const Nanos at = i * 100 + (i < 3 ? 0 : pause);
      Mark(at, at + 100, "ProfilerStep#" + std::to_string(i < 3 ? i + 5 : i - 3));
      Mark(at + 10, at + 20, "aten::mm", SliceKind::kOp);
    }
    return Find().holes.size();
  };
  EXPECT_EQ(holes(1), 0U);
  EXPECT_EQ(holes(99), 0U);
  EXPECT_EQ(holes(100), 1U);
}

// Six marks of 100 ns; the last goes on, and nothing is recorded in it after its first 50 ns.
TEST_F(StepsTest, ALastMarkIsLeftOutOnlyWhereItGoesOnForEver) {
  const auto count = [&](Nanos last, Nanos other_end) {
    builder_ = trace::Builder();
    for (int i = 0; i < 6; ++i) {
      Mark(i * 100, i * 100 + (i < 5 ? 100 : last), "ProfilerStep#" + std::to_string(i));
      Mark(i * 100 + 10, i * 100 + 60, "aten::mm", SliceKind::kOp);
    }
    if (other_end > 0) Mark(0, other_end, "train.py(3): main", SliceKind::kPython);
    return Find().steps.size();
  };
  EXPECT_EQ(count(2'000, 0), 5U);
  EXPECT_EQ(count(2'000, 2'499), 5U);
  EXPECT_EQ(count(2'000, 2'500), 6U);  // the loop goes on as long
  EXPECT_EQ(count(1'999, 0), 6U);      // a checkpoint can take that
}

TEST_F(StepsTest, CallsOfHoneStepThatDoNotFollowEachOtherMakeNoStep) {
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
TEST_F(StepsTest, PartsOfLabelsAreNoStepsButOneLabelAroundAllIsNone) {
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
