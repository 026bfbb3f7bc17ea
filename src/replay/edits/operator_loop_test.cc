// SPDX-License-Identifier: Apache-2.0
#include "replay/edits/operator_loop.h"

#include <string>
#include <vector>

#include "replay/replayed_test.h"

namespace hone::replay {
namespace {

constexpr int kSteps = 4;
constexpr double kStep = 4000;  // us

// Four steps without a device: what is written down is called one by one, 4 us each and 1 us apart.
class Program {
 public:
  Program() { MarkSteps(sketch_, kSteps, kStep); }

  void Step(int step) { at_ = 1000 + step * kStep + 10; }
  Program& Op(const char* name, const std::string& dims = "", std::int64_t node = -1) {
    trace::Builder& builder = sketch_.builder();
    trace::SliceInput op;
    op.start_ns = TraceSketch::Ns(at_);
    op.duration_ns = TraceSketch::Ns(4);
    op.name = builder.Intern(name);
    op.kind = trace::SliceKind::kOp;
    op.thread = builder.ThreadFor(1, TraceSketch::kMain);
    op.link = node;
    if (!dims.empty())
      op.detail =
          builder.Detail({.dims = builder.Intern(dims), .types = builder.Intern("[\"float\"]")});
    builder.Add(op);
    at_ += 5;
    return *this;
  }
  Known<OperatorLoop> Find() {
    sketch_.builder().trace().info.format = trace::Format::kKineto;
    const Replayed replayed(std::move(sketch_));
    return FindOperatorLoop(replayed.model());
  }

 private:
  TraceSketch sketch_;
  double at_ = 0;
};

const char* const kBack = "autograd::engine::evaluate_function: AddmmBackward0";
const char* const kGradient =
    "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad";

// `times` the same operators, and nothing else.
Known<OperatorLoop> Loop(int times, const std::vector<const char*>& names,
                         const std::string& dims = "", const char* after = nullptr) {
  Program program;
  for (int step = 0; step < kSteps; ++step) {
    program.Step(step);
    for (int i = 0; i < times; ++i) {
      for (const char* name : names) program.Op(name, dims);
    }
    if (after != nullptr) program.Op(after);
  }
  return program.Find();
}

TEST(OperatorLoop, WithoutWeightsIsOneFromEightTimesOn) {
  const auto loop = Loop(10, {"aten::sub", "aten::div", "aten::clamp"});
  ASSERT_TRUE(loop.has_value());
  EXPECT_EQ(loop->kind, LoopKind::kOperators);
  EXPECT_EQ(loop->times, 10);
  EXPECT_EQ(loop->once.size(), 3u);
  EXPECT_EQ(loop->rows.size(), kSteps * 9u * 3);  // the first time round stays
  EXPECT_FALSE(Loop(7, {"aten::sub", "aten::div"}).has_value());
}

TEST(OperatorLoop, ReadsValues) {
  const auto loop = Loop(20, {"aten::select", "aten::item"});
  ASSERT_TRUE(loop.has_value());
  EXPECT_EQ(loop->kind, LoopKind::kReads);
}

// An operator of 4 us calls for 1 us: a tenth computes at least, the rest of its 3 us.
TEST(OperatorLoop, WhatIsComputedStays) {
  const auto loop = Loop(10, {"aten::sub"});
  ASSERT_TRUE(loop.has_value());
  const double all = kSteps * 9 * 5'000.0;
  EXPECT_GT(static_cast<double>(loop->cut.gone_ns()), 0.3 * all);
  EXPECT_LT(static_cast<double>(loop->cut.gone_ns()), 0.95 * all);
}

TEST(OperatorLoop, LayersOfAModelAreNone) {
  EXPECT_FALSE(Loop(24, {"aten::linear", "aten::relu"}).has_value());
  EXPECT_FALSE(Loop(24, {"aten::linear", "aten::select", "aten::relu"}, "[[4, 64]]").has_value());
}

TEST(OperatorLoop, OneSampleAtATimeIsToldByShapesAndByWhatItIsTakenFrom) {
  const auto loop = Loop(24, {"aten::select", "aten::linear", "aten::relu"}, "[[1, 64]]");
  ASSERT_TRUE(loop.has_value());
  EXPECT_EQ(loop->kind, LoopKind::kModel);
  // Without shapes: taken out of a batch and given into another.
  EXPECT_TRUE(Loop(24, {"aten::select", "aten::linear"}, "", "aten::stack").has_value());
  EXPECT_FALSE(Loop(24, {"aten::select", "aten::linear"}, "", "aten::mean").has_value());
}

// A training step: `times` a product, and back; each with a gradient of its own, or one for all.
Known<OperatorLoop> Trained(int times, bool own) {
  Program program;
  std::int64_t node = 100;
  for (int step = 0; step < kSteps; ++step) {
    program.Step(step);
    const std::int64_t first = node;
    for (int i = 0; i < times; ++i, node += 2) {
      program.Op("aten::linear", "", node).Op("aten::relu", "", node + 1);
    }
    program.Op("aten::mean", "", node++);
    for (std::int64_t back = node - 1; back >= first; --back) {
      program.Op(kBack, "", back);
      if (own) program.Op(kGradient);
    }
    program.Op(kGradient);
  }
  return program.Find();
}

TEST(OperatorLoop, GradientsTellWhetherWeightsAreTheSame) {
  const auto loop = Trained(16, false);
  ASSERT_TRUE(loop.has_value());
  EXPECT_EQ(loop->kind, LoopKind::kModel);
  EXPECT_TRUE(loop->backward);
  EXPECT_FALSE(Trained(16, true).has_value());
}

TEST(OperatorLoop, GrowsWithAListThatNobodyEmpties) {
  const auto grows = [](int more) {
    Program program;
    for (int step = 0; step < kSteps; ++step) {
      program.Step(step);
      for (int i = 0; i < 20 + step * more; ++i) program.Op("aten::add");
    }
    const auto loop = program.Find();
    return loop ? loop->growth : -1;
  };
  EXPECT_EQ(grows(2), 2);
  EXPECT_EQ(grows(0), 0);
}

TEST(OperatorLoop, GatesMakeARecurrentCell) {
  const auto gru =
      Loop(20, {"aten::select", "aten::linear", "aten::sigmoid", "aten::tanh"}, "", "aten::stack");
  ASSERT_TRUE(gru.has_value());
  EXPECT_EQ(gru->kind, LoopKind::kGru);
  const auto lstm = Loop(20, {"aten::select", "aten::lstm_cell"}, "", "aten::stack");
  ASSERT_TRUE(lstm.has_value());
  EXPECT_EQ(lstm->kind, LoopKind::kLstm);
}

}  // namespace
}  // namespace hone::replay
