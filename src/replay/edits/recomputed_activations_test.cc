// SPDX-License-Identifier: Apache-2.0
#include "replay/edits/recomputed_activations.h"

#include <gtest/gtest.h>

#include <memory>

#include "analyze/facts.h"
#include "analyze/fixture_test.h"
#include "replay/edits/edits.h"

namespace hone::replay {
namespace {

constexpr Bytes kMiB = 1 << 20;

// A step of 1 ms: two layers, and a node that computes them again from 200 to 260 us, with a
// gradient behind.
class Step {
 public:
  explicit Step(Bytes capacity = 100 * kMiB) {
    f.Annotation(0, kMillisecond, "ProfilerStep#1");
    Launch("aten::linear", 10, 1, 1);
    Launch("aten::gelu", 30, 2, 1);
    f.Op(Us(200), Us(100), "autograd::engine::evaluate_function: GeluBackward0", {}, 2, 2);
    f.Op(Us(201), Us(98), "GeluBackward0", {}, 2, 2);
    Launch("aten::linear", 210, 7, 2);
    Launch("aten::gelu", 230, 8, 2);
    Launch("aten::gelu_backward", 260, -1, 2);
    f.builder.trace().devices.at(0).memory_bytes = capacity;
  }
  template <typename Check>
  void With(Check&& check) {
    const trace::Trace trace = f.Finish();
    const analyze::Facts facts = analyze::Analyze(trace);
    const auto model = Model::Build(trace, facts);
    ASSERT_TRUE(model.has_value()) << model.why_not();
    check(**model);
  }
  static Nanos Us(double us) { return static_cast<Nanos>(us * 1e3); }

  analyze::TraceFixture f;

 private:
  void Launch(const char* op, double at, std::int64_t number, int thread) {
    f.Op(Us(at), Us(18), op, {}, number, thread);
    f.Api(Us(at + 2), Us(3), ++launched_, thread);
    f.Kernel(Us(at + 8), Us(9), op, launched_);
  }
  std::int64_t launched_ = 0;
};

Nanos Left(const Model& model, const Plan& plan, LaneKind kind, double from_us, double to_us) {
  Nanos left = 0;
  for (TaskId t = 0; t < model.graph().tasks.size(); ++t) {
    const Task& task = model.graph().tasks[t];
    if (model.graph().lanes[task.lane].kind != kind) continue;
    if (task.start_ns >= Step::Us(from_us) && task.start_ns < Step::Us(to_us)) {
      left += plan.duration_ns[t];
    }
  }
  return left;
}

TEST(RecomputedActivations, WhatIsComputedAgainGoesAndNothingElse) {
  Step().With([](const Model& model) {
    const FoundEdit edit = FindRecomputedActivations(model);
    ASSERT_TRUE(edit.has_value()) << edit.why_not();
    const Plan before(model.graph());
    Plan plan(model.graph());
    (*edit)->Apply(model, Guess::kLikely, plan);
    const auto same = [&](LaneKind kind, double from, double to) {
      EXPECT_EQ(Left(model, plan, kind, from, to), Left(model, before, kind, from, to)) << from;
    };
    EXPECT_EQ(Left(model, plan, LaneKind::kStream, 200, 260), 0);
    EXPECT_EQ(Left(model, plan, LaneKind::kThread, 205, 260), Step::Us(2)) << "the gradient's";
    same(LaneKind::kStream, 0, 200);
    same(LaneKind::kStream, 260, 1000);
    same(LaneKind::kThread, 261, 1000);
    EXPECT_EQ((*edit)->Scope(model),
              "1 stretch of a backward pass, 0.018 ms of device work, 0.059 ms on the host");
  });
}

// Parameters that are gathered are what the gradients want as well.
TEST(RecomputedActivations, CommunicationStays) {
  Step step;
  step.f.Op(Step::Us(240), Step::Us(5), "c10d::_allgather_base_", {}, 9, 2);
  step.f.Api(Step::Us(241), Step::Us(2), 50, 2);
  step.f.Kernel(Step::Us(255), Step::Us(3), "ncclDevKernel_AllGather_RING_LL(x)", 50);
  step.With(
      [](const Model& model) { EXPECT_EQ(LookAtRecomputedActivations(model).work.size(), 2U); });
}

TEST(RecomputedActivations, WhatIsLeftAtItsEndWouldBeKept) {
  Step step;
  step.f.Memory(Step::Us(15), 100, 8 * kMiB, 28 * kMiB, 64 * kMiB);  // before
  step.f.Memory(Step::Us(211), 1, 4 * kMiB, 32 * kMiB, 64 * kMiB, trace::MemoryDevice::kGpu, 2);
  step.f.Memory(Step::Us(212), 2, 2 * kMiB, 34 * kMiB, 64 * kMiB, trace::MemoryDevice::kGpu, 2);
  step.f.Memory(Step::Us(213), 9, 1 * kMiB, 35 * kMiB, 64 * kMiB, trace::MemoryDevice::kGpu, 1);
  step.f.Memory(Step::Us(214), 8, 7 * kMiB, 7 * kMiB, -1, trace::MemoryDevice::kHost, 2);
  step.f.Memory(Step::Us(220), 2, -2 * kMiB, 33 * kMiB, 64 * kMiB, trace::MemoryDevice::kGpu, 2);
  step.f.Memory(Step::Us(231), 2, 3 * kMiB, 36 * kMiB, 64 * kMiB, trace::MemoryDevice::kGpu, 2);
  step.f.Memory(Step::Us(240), 100, -8 * kMiB, 28 * kMiB, 64 * kMiB, trace::MemoryDevice::kGpu, 2);
  step.f.Memory(Step::Us(270), 1, -4 * kMiB, 24 * kMiB, 64 * kMiB, trace::MemoryDevice::kGpu, 2);
  step.With([](const Model& model) {
    const RecomputedActivations found = LookAtRecomputedActivations(model);
    ASSERT_TRUE(found.kept.has_value()) << found.kept.why_not();
    EXPECT_EQ(*found.kept, 7 * kMiB);
    EXPECT_EQ(found.peak, 36 * kMiB);
    EXPECT_EQ(found.capacity, 100 * kMiB);
    EXPECT_FALSE(found.TooMuch());
  });
}

TEST(RecomputedActivations, AboveNineTenthsOfMemoryItDoesNotApply) {
  for (const auto& [capacity, fits] : {std::pair(56 * kMiB, true), std::pair(55 * kMiB, false)}) {
    Step step(capacity);
    step.f.Memory(Step::Us(211), 1, 20 * kMiB, 30 * kMiB, 40 * kMiB, trace::MemoryDevice::kGpu, 2);
    step.With([&](const Model& model) {
      EXPECT_EQ(FindRecomputedActivations(model).has_value(), fits) << capacity;
    });
  }
  Step().With([](const Model& model) {
    EXPECT_FALSE(LookAtRecomputedActivations(model).kept.has_value());
    EXPECT_TRUE(FindRecomputedActivations(model).has_value()) << "nobody knows";
  });
}

}  // namespace
}  // namespace hone::replay
