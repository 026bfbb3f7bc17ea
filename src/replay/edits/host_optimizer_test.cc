// SPDX-License-Identifier: Apache-2.0
#include "replay/edits/host_optimizer.h"

#include "replay/replayed_test.h"

namespace hone::replay {
namespace {

constexpr double kStep = 1000;  // us, half of it the optimizer's

// Four steps without a device; the optimizer calls so many operators of 10 us.
Replayed Sample(const char* optimizer, int operators, const char* op) {
  TraceSketch sketch;
  MarkSteps(sketch, 4, kStep);
  for (int step = 0; step < 4; ++step) {
    const double at = 1000 + step * kStep;
    sketch.Op("aten::linear", at + 10, at + 490);
    sketch.Annotation(optimizer, at + 495, at + 995);
    for (int i = 0; i < operators; ++i) sketch.Op(op, at + 500 + 11 * i, at + 510 + 11 * i);
  }
  sketch.builder().trace().info.format = trace::Format::kKineto;
  return Replayed(std::move(sketch));
}

// Of the optimizer's 500 us a step, what is left.
double Left(const Replayed& r, Guess guess) {
  const FoundEdit edit = FindUnfusedOptimizer(r.model());
  EXPECT_TRUE(edit.has_value()) << edit.why_not();
  Plan plan(r.graph());
  if (edit) (*edit)->Apply(r.model(), guess, plan);
  double gone = 0;
  for (TaskId t = 0; t < r.graph().tasks.size(); ++t) {
    gone += static_cast<double>(r.At(t).duration_ns - plan.duration_ns[t]) / 1e3;
  }
  return 1 - gone / (500.0 * static_cast<double>(r.graph().steps));
}

TEST(HostOptimizer, AFusedOneTakesAFifth) {
  const Replayed adam = Sample("Optimizer.step#AdamW.step", 40, "aten::addcdiv_");
  EXPECT_NEAR(Left(adam, Guess::kLikely), 0.2, 0.01);
  EXPECT_NEAR(Left(adam, Guess::kLeast), 0.35, 0.01);
  EXPECT_NEAR(Left(adam, Guess::kMost), 0.15, 0.01);
}

TEST(HostOptimizer, SgdHasLessToGain) {
  EXPECT_NEAR(Left(Sample("Optimizer.step#SGD.step", 40, "aten::add_"), Guess::kLikely), 0.3, 0.01);
}

TEST(HostOptimizer, NothingWhereItIsFusedOrCannotBeOrIsSmall) {
  for (const auto& [optimizer, operators, op] :
       {std::tuple("Optimizer.step#AdamW.step", 40, "aten::_fused_adamw_"),
        std::tuple("Optimizer.step#RMSprop.step", 40, "aten::addcdiv_"),
        std::tuple("Optimizer.step#AdamW.step", 19, "aten::addcdiv_")}) {
    EXPECT_FALSE(FindUnfusedOptimizer(Sample(optimizer, operators, op).model()).has_value());
  }
}

// Lightning, LBFGS and SAM run the whole step in a closure of step(), the engine here on a thread
// of its own, and clip before they return.
TEST(HostOptimizer, WhatAClosureDoesStays) {
  const auto gone_ns = [](bool closure) {
    TraceSketch sketch;
    MarkSteps(sketch, 4, kStep);
    for (int step = 0; step < 4; ++step) {
      const double at = 1000 + step * kStep;
      sketch.Annotation("Optimizer.step#AdamW.step", at + (closure ? 5 : 495), at + 995);
      sketch.Python("trainer.py(20): closure", at + 8, at + 490);
      for (int i = 0; i < 10; ++i) sketch.Op("aten::linear", at + 10 + 20 * i, at + 30 + 20 * i);
      sketch.Op("autograd::engine::evaluate_function: X", at + 220, at + 400,
                TraceSketch::kAutograd);
      sketch.Op("aten::_foreach_norm", at + 410, at + 480);
      for (int i = 0; i < 40; ++i)
        sketch.Op("aten::addcdiv_", at + 500 + 11 * i, at + 510 + 11 * i);
    }
    sketch.builder().trace().info.format = trace::Format::kKineto;
    const Replayed r(std::move(sketch));
    const FoundEdit edit = FindUnfusedOptimizer(r.model());
    EXPECT_TRUE(edit.has_value()) << edit.why_not();
    Plan plan(r.graph());
    if (edit) {
      EXPECT_EQ((*edit)->Scope(r.model()), "40 operators an optimizer step become one");
      (*edit)->Apply(r.model(), Guess::kLikely, plan);
    }
    Nanos gone = 0;
    for (TaskId t = 0; t < r.graph().tasks.size(); ++t) {
      gone += r.At(t).duration_ns - plan.duration_ns[t];
    }
    return static_cast<double>(gone);
  };
  EXPECT_NEAR(gone_ns(true), gone_ns(false), 0.02 * gone_ns(false));
}

}  // namespace
}  // namespace hone::replay
