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
  Program& Op(const char* name, const std::string& dims = "", std::int64_t node = -1,
              int products = 0, double us = 4) {
    Add(name, at_, us, dims, node);
    for (int i = 0; i < products; ++i) Add("aten::mm", at_ + 0.5 + i, 0.5, "", -1);
    at_ += us + 1;
    return *this;
  }
  // Around what is written down until EndMark.
  Program& Mark() {
    mark_ = at_++;
    return *this;
  }
  Program& EndMark(const char* name) {
    sketch_.Annotation(name, mark_, at_++);
    return *this;
  }
  Known<OperatorLoop> Find() {
    sketch_.builder().trace().info.format = trace::Format::kKineto;
    const Replayed replayed(std::move(sketch_));
    return FindOperatorLoop(replayed.model());
  }

 private:
  void Add(const char* name, double at, double us, const std::string& dims, std::int64_t node) {
    trace::Builder& builder = sketch_.builder();
    trace::SliceInput op;
    op.start_ns = TraceSketch::Ns(at);
    op.duration_ns = TraceSketch::Ns(us);
    op.name = builder.Intern(name);
    op.kind = trace::SliceKind::kOp;
    op.thread = builder.ThreadFor(1, TraceSketch::kMain);
    op.link = node;
    if (!dims.empty())
      op.detail = builder.Detail(
          {.dims = builder.Intern(dims), .types = builder.Intern("[\"float\", \"float\"]")});
    builder.Add(op);
  }

  TraceSketch sketch_;
  double at_ = 0, mark_ = 0;
};

const char* const kBack = "autograd::engine::evaluate_function: AddmmBackward0";
const char* const kGradient =
    "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad";

struct Called {
  const char* name;
  std::string dims = {};
};

// `times` the same operators, and one after them.
Known<OperatorLoop> Loop(int times, const std::vector<Called>& round, const char* after = nullptr) {
  Program program;
  for (int step = 0; step < kSteps; ++step) {
    program.Step(step);
    for (int i = 0; i < times; ++i) {
      for (const Called& called : round) program.Op(called.name, called.dims);
    }
    if (after != nullptr) program.Op(after);
  }
  return program.Find();
}

TEST(OperatorLoop, WithoutWeightsIsOneFromEightTimesOn) {
  const auto loop = Loop(10, {{"aten::select"}, {"aten::sub"}, {"aten::clamp"}});
  ASSERT_TRUE(loop.has_value());
  EXPECT_EQ(loop->kind, LoopKind::kOperators);
  EXPECT_EQ(loop->times, 10);
  EXPECT_EQ(loop->once.size(), 3u);
  EXPECT_EQ(loop->rows.size(), kSteps * 9u * 3);  // the first time round stays
  EXPECT_FALSE(Loop(7, {{"aten::select"}, {"aten::sub"}}).has_value());
}

// Where step() is given a closure, the loop of the model is in the optimizer's mark and none of its
// own.
TEST(OperatorLoop, WhatAnOptimizerLoopsOverIsLeftOut) {
  const auto found = [](const char* mark, bool closure) {
    Program program;
    for (int step = 0; step < kSteps; ++step) {
      program.Step(step);
      program.Mark();
      for (int i = 0; i < 10; ++i) program.Op("aten::select").Op("aten::sub").Op("aten::clamp");
      if (closure) program.Op(kBack);
      program.Op("aten::add_").EndMark(mark);
    }
    return program.Find().has_value();
  };
  EXPECT_FALSE(found("Optimizer.step#LBFGS.step", false));
  EXPECT_TRUE(found("Optimizer.step#LBFGS.step", true));
  EXPECT_FALSE(found("Optimizer.zero_grad#LBFGS.zero_grad", false));
  EXPECT_TRUE(found("forward", false));
}

// An iteration that needs the one before has none of these signs.
TEST(OperatorLoop, WithoutWeightsSomethingMustTellWhatItGoesOver) {
  EXPECT_FALSE(Loop(10, {{"aten::logsumexp"}, {"aten::sub"}}).has_value());
  EXPECT_TRUE(Loop(10, {{"aten::logsumexp"}, {"aten::sub"}}, "aten::stack").has_value());
  EXPECT_TRUE(Loop(10, {{"aten::mul_"}, {"aten::add_"}}).has_value());
  EXPECT_TRUE(Loop(10, {{"aten::add"}}).has_value());
}

TEST(OperatorLoop, ReadsValues) {
  const auto loop = Loop(20, {{"aten::select"}, {"aten::item"}});
  ASSERT_TRUE(loop.has_value());
  EXPECT_EQ(loop->kind, LoopKind::kReads);
}

// An operator of 4 us calls for 1 us: a tenth computes at least, the rest of its 3 us.
TEST(OperatorLoop, WhatIsComputedStays) {
  const auto loop = Loop(10, {{"aten::add"}});
  ASSERT_TRUE(loop.has_value());
  const double all = kSteps * 9 * 5'000.0;
  EXPECT_GT(static_cast<double>(loop->cut.gone_ns()), 0.3 * all);
  EXPECT_LT(static_cast<double>(loop->cut.gone_ns()), 0.95 * all);
}

// Short calls, and every fifth a long one: of no call goes more than its own 1 us and the 1 us to
// the next.
TEST(OperatorLoop, CallsOfDifferentLengthsGainNothingFromEachOther) {
  const auto uneven = [](double longest) {
    Program program;
    for (int step = 0; step < kSteps; ++step) {
      program.Step(step);
      for (int i = 0; i < 21; ++i) {
        program.Op("aten::select", "", -1, 0, 2);
        program.Op("aten::cumsum", "", -1, 0, i % 5 == 0 ? longest : 2);
      }
    }
    return program.Find();
  };
  const auto loop = uneven(20);
  ASSERT_TRUE(loop.has_value());
  EXPECT_LE(loop->cut.gone_ns(), kSteps * 20 * 2 * 2'000);
  EXPECT_FALSE(uneven(500).has_value());  // calling is a small part
}

TEST(OperatorLoop, LayersOfAModelAreNone) {
  EXPECT_FALSE(Loop(24, {{"aten::linear"}, {"aten::relu"}}).has_value());
  EXPECT_FALSE(Loop(24, {{"aten::linear", "[[4, 64]]"}, {"aten::select"}}).has_value());
  for (const char* layer :
       {"quantized::linear_dynamic", "aten::embedding_bag", "aten::layer_norm",
        "aten::_transformer_encoder_layer_fwd", "mkldnn::_linear_pointwise", "mine::block"}) {
    EXPECT_FALSE(Loop(24, {{layer}, {"aten::select"}, {"aten::add"}}).has_value()) << layer;
    EXPECT_FALSE(Loop(24, {{"aten::select"}, {layer}}, "aten::stack").has_value()) << layer;
  }
}

TEST(OperatorLoop, OneSampleAtATimeIsToldByShapes) {
  const Called take{"aten::select", "[[24, 64]]"}, weighs{"aten::linear", "[[1, 64], [9, 64]]"};
  const auto loop = Loop(24, {take, weighs, {"aten::relu"}}, "aten::stack");
  ASSERT_TRUE(loop.has_value());
  EXPECT_EQ(loop->kind, LoopKind::kModel);
  EXPECT_TRUE(loop->one_row);
  // Without shapes; micro-batches; another tensor than that of the samples; not gathered; and a
  // cell, which needs the time before.
  EXPECT_FALSE(Loop(24, {{"aten::select"}, {"aten::linear"}}, "aten::stack").has_value());
  EXPECT_FALSE(Loop(24, {take, {"aten::linear", "[[8, 64], [9, 64]]"}}, "aten::stack").has_value());
  EXPECT_FALSE(Loop(24, {{"aten::select", "[[1, 64]]"}, weighs}, "aten::stack").has_value());
  EXPECT_FALSE(Loop(24, {take, weighs}, "aten::mean").has_value());
  EXPECT_FALSE(Loop(24, {take, weighs, {"aten::tanh"}}, "aten::stack").has_value());
}

// One token through the layers of a decoder: each writes into its cache and takes out of it.
TEST(OperatorLoop, OneTokenThroughManyLayersIsNoLoopOverSamples) {
  const Called weighs{"aten::linear", "[[1, 1, 64], [64, 64]]"},
      cache{"aten::slice", "[[128, 64]]"};
  EXPECT_FALSE(Loop(24, {weighs, cache, {"aten::copy_"}, {"aten::silu"}}).has_value());
  EXPECT_FALSE(Loop(24, {cache, {"aten::copy_"}, weighs, {"aten::silu"}}).has_value());
  Program program;  // sizes differ from layer to layer
  for (int step = 0; step < kSteps; ++step) {
    program.Step(step);
    for (int i = 0; i < 16; ++i) {
      program.Op("aten::slice", "[[16, 64]]");
      program.Op("aten::linear", "[[1, 64], [" + std::to_string(8 * i + 8) + ", 64]]");
    }
    program.Op("aten::cat");
  }
  EXPECT_FALSE(program.Find().has_value());
}

struct Training {
  bool takes = true;  // each time round begins with its sample
  bool own = false;   // gradients are complete each time round
  int first = 1;      // products of the first layer's backward pass: 2 where its input has one
  const char* loss = "aten::mse_loss";
};

// A training step: 16 times a product, and back.
Known<OperatorLoop> Trained(const Training& how) {
  Program program;
  std::int64_t node = 100;
  for (int step = 0; step < kSteps; ++step) {
    program.Step(step);
    const std::int64_t first = node;
    for (int i = 0; i < 16; ++i, node += 2) {
      if (how.takes) program.Op("aten::slice", "", node);
      program.Op("aten::linear", "", node).Op(how.loss, "", node + 1);
    }
    program.Op("aten::mean", "", node++);
    for (std::int64_t back = node - 1; back >= first; --back) {
      program.Op(kBack, "", back, (back - first) % 2 == 0 ? how.first : 0);
      if (how.own) program.Op(kGradient);
    }
    program.Op(kGradient);
  }
  return program.Find();
}

TEST(OperatorLoop, TheBackwardPassTellsWhetherSamplesNeedEachOther) {
  const auto loop = Trained({});
  ASSERT_TRUE(loop.has_value());
  EXPECT_EQ(loop->kind, LoopKind::kModel);
  EXPECT_TRUE(loop->backward);
  EXPECT_FALSE(loop->one_row);  // nobody knows
  EXPECT_FALSE(Trained({.own = true}).has_value());
  // The same weights again and again, each time on what the time before gave.
  EXPECT_FALSE(Trained({.takes = false}).has_value());
  EXPECT_FALSE(Trained({.first = 2}).has_value());
  EXPECT_FALSE(Trained({.loss = "aten::relu"}).has_value());
}

// Each time round has a backward pass of its own: micro-batches, unless shapes say one row.
TEST(OperatorLoop, GradientAccumulationIsNone) {
  const auto accumulates = [](const char* all, const char* rows) {
    Program program;
    std::int64_t node = 100;
    for (int step = 0; step < kSteps; ++step) {
      program.Step(step);
      for (int i = 0; i < 8; ++i, node += 2) {
        program.Op("aten::slice", all, node).Op("aten::linear", rows, node);
        program.Op("aten::mse_loss", "", node + 1);
        program.Op(kBack, "", node + 1).Op(kBack, "", node, 1).Op(kGradient);
      }
    }
    return program.Find();
  };
  EXPECT_FALSE(accumulates("", "").has_value());
  EXPECT_FALSE(accumulates("[[512, 64]]", "[[64, 64], [9, 64]]").has_value());
  EXPECT_TRUE(accumulates("[[8, 64]]", "[[1, 64], [9, 64]]").has_value());
}

TEST(OperatorLoop, GrowsWithAListThatNobodyEmpties) {
  const auto grows = [](const std::vector<int>& counts) {
    Program program;
    for (int step = 0; step < kSteps; ++step) {
      program.Step(step);
      for (int i = 0; i < counts[static_cast<std::size_t>(step)]; ++i) program.Op("aten::add");
    }
    const auto loop = program.Find();
    return loop ? loop->growth : -1;
  };
  EXPECT_EQ(grows({20, 22, 24, 26}), 2);
  EXPECT_EQ(grows({20, 20, 20, 20}), 0);
  EXPECT_EQ(grows({20, 21, 25, 26}), 0);  // sorted by length
}

TEST(OperatorLoop, ACellOverLongerAndLongerSequencesStaysACell) {
  Program program;
  for (int step = 0; step < kSteps; ++step) {
    program.Step(step);
    for (int i = 0; i < 20 + 4 * step; ++i) program.Op("aten::select").Op("aten::gru_cell");
    program.Op("aten::stack");
  }
  const auto loop = program.Find();
  ASSERT_TRUE(loop.has_value());
  EXPECT_EQ(loop->kind, LoopKind::kGru);
  EXPECT_EQ(loop->growth, 0);
}

TEST(OperatorLoop, GatesMakeARecurrentCell) {
  const auto lstm = Loop(20, {{"aten::select"}, {"aten::lstm_cell"}}, "aten::stack");
  ASSERT_TRUE(lstm.has_value());
  EXPECT_EQ(lstm->kind, LoopKind::kLstm);
  // Written out, without a backward pass: may be layers with gates.
  EXPECT_FALSE(Loop(20, {{"aten::select"}, {"aten::linear"}, {"aten::sigmoid"}, {"aten::tanh"}},
                    "aten::stack")
                   .has_value());
  Program program;
  std::int64_t node = 100;
  for (int step = 0; step < kSteps; ++step) {
    program.Step(step);
    const std::int64_t first = node;
    for (int i = 0; i < 16; ++i, node += 3) {
      program.Op("aten::select", "", node).Op("aten::linear", "", node);
      program.Op("aten::sigmoid", "", node + 1).Op("aten::tanh", "", node + 2);
    }
    for (std::int64_t back = node - 1; back >= first; --back) program.Op(kBack, "", back, 2);
    program.Op(kGradient);
  }
  const auto gru = program.Find();
  ASSERT_TRUE(gru.has_value());
  EXPECT_EQ(gru->kind, LoopKind::kGru);
}

// Steps in which each operator launches a kernel of 2 us, ten times round.
TraceSketch OnDevice(const std::vector<Called>& round) {
  TraceSketch sketch;
  MarkSteps(sketch, kSteps, kStep);
  std::int64_t correlation = 0;
  for (int step = 0; step < kSteps; ++step) {
    double at = 1000 + step * kStep + 10;
    for (int i = 0; i < 10; ++i) {
      for (const Called& called : round) {
        sketch.Op(called.name, at, at + 12).Launch(at + 4, ++correlation);
        sketch.Kernel(at + 14, at + 16, correlation);
        at += 14;
      }
    }
  }
  return sketch;
}

// What its operators take there is calling them, and what they launch goes along.
TEST(OperatorLoop, OnADeviceCallingIsAllOfIt) {
  const Replayed replayed(OnDevice({{"aten::select"}, {"aten::mul"}, {"aten::add"}}));
  const Known<OperatorLoop> loop = FindOperatorLoop(replayed.model());
  ASSERT_TRUE(loop.has_value()) << loop.why_not();
  EXPECT_EQ(loop->times, 10);
  EXPECT_EQ(loop->work.size(), replayed.graph().steps * 9 * 3);
  for (const TaskId task : loop->work) {
    EXPECT_EQ(replayed.At(task).kind, TaskKind::kKernel);
  }
  // The whole pitch of an operator: 14 us of dispatch and launch.
  const auto each =
      static_cast<double>(loop->cut.gone_ns()) / static_cast<double>(loop->work.size());
  EXPECT_NEAR(each, 14'000, 500);
}

// Each of them waits for the device: that is host-sync's.
TEST(OperatorLoop, OnADeviceReadsAreNoLoop) {
  const Replayed replayed(OnDevice({{"aten::select"}, {"aten::item"}}));
  EXPECT_FALSE(FindOperatorLoop(replayed.model()).has_value());
}

}  // namespace
}  // namespace hone::replay
