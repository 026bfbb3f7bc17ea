// SPDX-License-Identifier: Apache-2.0
#include "replay/edits/user_operators.h"

#include <string>
#include <vector>

#include "replay/replayed_test.h"

namespace hone::replay {
namespace {

constexpr int kSteps = 10;
constexpr double kStep = 10'000;  // us

const char* const kBack = "autograd::engine::evaluate_function: AddmmBackward0";
const char* const kGradient =
    "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad";
const std::string kMain = "train.py(40): main";
const std::string kTorch = "/usr/lib/python3/site-packages/torch/";
// The model in main, by the stacks that operators carry: what of the framework is innermost is left
// out, and only samples have it.
const std::string kModelLine = "train.py(41): main";
const std::string kForward = kTorch + "nn/modules/linear.py(130): forward";

// Steps without a device: what is written down is called one after the other, 1 us apart.
class Program {
 public:
  Program() { MarkSteps(sketch_, kSteps, kStep); }

  void Step(int step) {
    at_ = 1000 + step * kStep + 10;
    node_ = 10 * step;
  }
  // `stack`: outermost first. `makes`: a node of autograd; -1: grad mode is off.
  Program& Op(const char* name, double us, const std::vector<std::string>& stack, int makes = 0) {
    Add(name, us, stack, makes < 0 ? -1 : node_);
    node_ += std::max(makes, 0);
    return *this;
  }
  // Of the node that was made `ago` nodes before.
  Program& Back(int ago, double us = 200) {
    Add(kBack, us, {}, node_ - ago);
    return *this;
  }
  Program& Gradients(int count) {
    for (int i = 0; i < count; ++i) Add(kGradient, 5, {}, -1);
    return *this;
  }
  // A model in the loop, 2 ms, and its way back.
  Program& Model() {
    const double begin = at_;
    Op("aten::linear", 2000, {kModelLine}, 1);
    Sample(begin + 500, {kModelLine, kForward});
    return *this;
  }
  Known<UserOperators> Find() {
    sketch_.builder().trace().info.format = trace::Format::kHone;
    const Replayed replayed(std::move(sketch_));
    Known<UserOperators> found = FindUserOperators(replayed.model());
    if (found) place_ = found->place;
    return found;
  }
  const std::string& place() const { return place_; }

 private:
  std::uint32_t Frames(const std::vector<std::string>& stack) {
    trace::Builder& builder = sketch_.builder();
    std::uint32_t frame = 0;
    for (const std::string& place : stack) {
      frame = builder.AddFrame(frame, builder.Intern(place), builder.Intern(place));
    }
    return frame;
  }
  void Sample(double at, const std::vector<std::string>& stack) {
    trace::SampleInput sample;
    sample.time_ns = TraceSketch::Ns(at);
    sample.thread = sketch_.builder().ThreadFor(1, TraceSketch::kMain);
    sample.period_ns = kMillisecond;
    sample.state = trace::ThreadState::kRunning;
    sample.frame = Frames(stack);
    sketch_.builder().Add(sample);
  }
  void Add(const char* name, double us, const std::vector<std::string>& stack, std::int64_t node) {
    trace::Builder& builder = sketch_.builder();
    trace::SliceInput op;
    op.start_ns = TraceSketch::Ns(at_);
    op.duration_ns = TraceSketch::Ns(us);
    op.name = builder.Intern(name);
    op.kind = trace::SliceKind::kOp;
    op.thread = builder.ThreadFor(1, TraceSketch::kMain);
    op.link = node;
    if (!stack.empty()) {
      std::string text;
      for (std::size_t i = stack.size(); i-- > 0;) text += stack[i] + (i > 0 ? ";" : "");
      op.detail = builder.Detail({.stack = builder.Intern(text)});
      if (us >= 100) Sample(at_ + us / 2, stack);
    }
    builder.Add(op);
    at_ += us + 1;
  }

  TraceSketch sketch_;
  double at_ = 0;
  std::int64_t node_ = 0;
  std::string place_;
};

struct Called {
  const char* name;
  double us;
  std::vector<std::string> stack;
  int makes = 0;
};

// These, then the model and its backward pass.
Known<UserOperators> Beside(const std::vector<Called>& calls, std::string* place = nullptr,
                            int gradients = 4) {
  Program program;
  for (int step = 0; step < kSteps; ++step) {
    program.Step(step);
    for (const Called& call : calls) program.Op(call.name, call.us, call.stack, call.makes);
    program.Model().Back(1).Gradients(gradients);
  }
  Known<UserOperators> found = program.Find();
  if (place != nullptr) *place = program.place();
  return found;
}

TEST(UserOperators, AreAFunctionThatNoGradientGoesThrough) {
  std::string place;
  const auto found = Beside({{"aten::zeros", 500, {kMain, "graph.py(5): build"}},
                             {"aten::add", 2000, {kMain, "graph.py(7): build"}}},
                            &place);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(place, "graph.py(7): build");
  EXPECT_FALSE(found->line);
  EXPECT_TRUE(found->trains);
  EXPECT_FALSE(found->graph);
  EXPECT_EQ(found->rows.size(), 2u * kSteps);
  EXPECT_EQ(found->names.front().name.empty(), false);
  // Both, and the way from one to the other.
  EXPECT_EQ(found->cut.gone_ns(), kSteps * 2'501'000);
}

TEST(UserOperators, OfFunctionsInFunctionsTheInnermostThatHasNearlyAll) {
  std::string place;
  const std::vector<std::string> report = {kMain, "report.py(3): report"};
  auto area = report, mean = report;
  area.emplace_back("report.py(20): area");
  mean.emplace_back("report.py(30): mean");
  ASSERT_TRUE(Beside({{"aten::sort", 2000, area}, {"aten::mean", 100, mean}}, &place).has_value());
  EXPECT_EQ(place, "report.py(20): area");
  ASSERT_TRUE(Beside({{"aten::sort", 1200, area}, {"aten::mean", 1000, mean}}, &place).has_value());
  EXPECT_EQ(place, "report.py(3): report");
}

// What a function takes counts once, however often it is in itself.
TEST(UserOperators, OfAFunctionThatCallsItselfCountOnce) {
  std::string place;
  const std::vector<std::string> report = {kMain, "report.py(3): report"};
  auto deep = report, other = report;
  for (int i = 0; i < 3; ++i) deep.emplace_back("report.py(20): walk");
  other.emplace_back("report.py(30): mean");
  ASSERT_TRUE(
      Beside({{"aten::sort", 1000, deep}, {"aten::mean", 1000, other}}, &place).has_value());
  EXPECT_EQ(place, "report.py(3): report");
  ASSERT_TRUE(Beside({{"aten::sort", 2000, deep}, {"aten::mean", 100, other}}, &place).has_value());
  EXPECT_EQ(place, "report.py(20): walk");
  // Two that call each other: the one that was called first.
  auto back = report;
  back.emplace_back("report.py(20): walk");
  back.push_back(report.back());
  ASSERT_TRUE(Beside({{"aten::sort", 2000, back}}, &place).has_value());
  EXPECT_EQ(place, "report.py(3): report");
}

TEST(UserOperators, OfTheLoopItselfAreTheirLine) {
  std::string place;
  const auto found = Beside({{"aten::eq", 2000, {kMain}}}, &place);
  ASSERT_TRUE(found.has_value());
  EXPECT_TRUE(found->line);
  EXPECT_EQ(place, kMain);
  // On a line that runs a model it may be the model's.
  EXPECT_FALSE(Beside({{"aten::eq", 2000, {kModelLine}}}).has_value());
}

TEST(UserOperators, AreNoneWhereGradientsGoThrough) {
  const std::vector<std::string> loss = {kMain, "loss.py(3): loss"};
  auto targets = loss;
  targets.emplace_back("loss.py(20): targets");
  Program learned, loses;
  for (int step = 0; step < kSteps; ++step) {
    learned.Step(step);
    learned.Op("aten::add", 2000, {kMain, "graph.py(5): build"}, 1).Model().Back(1).Back(2);
    loses.Step(step);
    loses.Model();
    loses.Op("aten::eq", 2000, targets).Op("aten::mul", 500, loss, 1).Back(1).Back(2);
  }
  EXPECT_FALSE(learned.Find().has_value());
  // What a loss makes for itself goes with the loss.
  EXPECT_FALSE(loses.Find().has_value());
}

TEST(UserOperators, MakeAGraphThatNobodyGoesBackThrough) {
  const auto found = Beside({{"aten::norm", 2000, {kMain, "log.py(5): norms"}, 1}});
  ASSERT_TRUE(found.has_value());
  EXPECT_TRUE(found->graph);
}

TEST(UserOperators, AreNotWhatAModelOrAnOptimizerCalls) {
  const std::string call = kTorch + "nn/modules/module.py(1500): _call_impl";
  EXPECT_FALSE(Beside({{"aten::add", 2000, {kMain, call, "net.py(9): forward"}}}).has_value());
  const std::string step = kTorch + "optim/optimizer.py(400): wrapper";
  EXPECT_FALSE(Beside({{"aten::add", 2000, {kMain, step, "mine.py(9): step"}}}).has_value());
}

TEST(UserOperators, OfAForwardPassAreWhatNeedsNoGradient) {
  const std::string call = kTorch + "nn/modules/module.py(1500): _call_impl";
  const std::vector<std::string> forward = {kMain, call, "net.py(9): forward"};
  auto helper = forward, layer = forward;
  helper.emplace_back("net.py(30): mask");
  layer.emplace_back(call);
  layer.push_back(kForward);
  const Called learns{"aten::linear", 200, layer, 1};
  const auto with = [&](const char* name, int makes, bool frozen) {
    Program program;
    for (int step = 0; step < kSteps; ++step) {
      program.Step(step);
      program.Op(learns.name, learns.us, learns.stack, frozen ? 0 : 1)
          .Op(name, 2000, helper, makes);
      program.Model().Back(makes > 0 ? 3 : 2).Back(1);
    }
    return program.Find();
  };
  const auto found = with("aten::tril", 0, false);
  ASSERT_TRUE(found.has_value());
  EXPECT_TRUE(found->inside);
  EXPECT_FALSE(with("aten::tril", -1, false).has_value());  // a quantizer, perhaps
  EXPECT_FALSE(with("aten::topk", 1, false).has_value());   // neighbours of what is learned
  EXPECT_FALSE(with("aten::mm", 0, false).has_value());
  EXPECT_FALSE(with("aten::tril", 0, true).has_value());
}

// Where the losing boxes are, which samples are hard: told by what the model put out.
TEST(UserOperators, AreNotWhatResultsAreMadeInto) {
  const std::vector<std::string> stack = {kMain, "mine.py(9): assign"};
  const auto behind_model = [&](const char* name, int makes, bool learned) {
    Program program;
    for (int step = 0; step < kSteps; ++step) {
      program.Step(step);
      program.Model();
      if (learned) program.Back(1);
      program.Op(name, 2000, stack, makes);
      if (!learned) program.Back(1);
    }
    return program.Find().has_value();
  };
  EXPECT_FALSE(behind_model("aten::cdist", -1, false));
  // With grad mode on it has nothing of the model; behind the backward pass nobody learns from it.
  EXPECT_TRUE(behind_model("aten::cdist", 0, false));
  EXPECT_TRUE(behind_model("aten::cdist", -1, true));
}

// A library of metrics computes without gradients between the passes, and no loss is made of it:
// not even where it takes rows all the time, on a line that calls a framework too, in a step that
// is the closure of an optimizer (Lightning).
TEST(UserOperators, AreWhatALibraryOfMetricsComputes) {
  const std::string metric = "/usr/lib/python3/site-packages/torchmetrics/metric.py(699): compute";
  const auto with = [&](const std::vector<std::string>& stack, const char* name) {
    Program program;
    for (int step = 0; step < kSteps; ++step) {
      program.Step(step);
      program.Model();
      program.Op(name, 2000, stack, -1).Back(1);
    }
    program.Find();
    return program.place();
  };
  EXPECT_EQ(with({kMain, metric}, "aten::sort"), kMain);
  EXPECT_EQ(with({kMain, metric}, "aten::index"), kMain);
  EXPECT_EQ(with({kModelLine, metric}, "aten::sort"), kModelLine);
  EXPECT_EQ(with({kMain, "mine.py(3): accuracy"}, "aten::sort"), "");
  const std::string mine = "mine.py(9): training_step";
  const std::string wrapper = kTorch + "optim/optimizer.py(400): wrapper";
  EXPECT_EQ(with({kMain, wrapper, kTorch + "optim/adam.py(227): step", mine, metric}, "aten::sort"),
            mine);
  EXPECT_EQ(with({kMain, wrapper, mine, metric}, "aten::sort"), "");
}

// An optimizer that makes gradients orthogonal by products, for the two matrices of four
// parameters.
TEST(UserOperators, AreNotWhatUpdatesWeights) {
  const std::vector<std::string> stack = {kMain, "mine.py(9): update"};
  auto inner = stack;
  inner.emplace_back("mine.py(20): orthogonalize");
  const auto update = [&](const char* name, int gradients) {
    Program program;
    for (int step = 0; step < kSteps; ++step) {
      program.Step(step);
      program.Model().Back(1).Gradients(gradients);
      for (int matrix = 0; matrix < 2; ++matrix) {
        for (int i = 0; i < 3; ++i) program.Op("aten::matmul", 300, inner, -1);
        program.Op(name, 100, stack, -1);
      }
    }
    return program.Find().has_value();
  };
  EXPECT_FALSE(update("aten::sub_", 4));
  EXPECT_TRUE(update("aten::sub", 4));
  EXPECT_TRUE(update("aten::sub_", 40));  // two running sums, perhaps
}

// A model without modules, new random numbers, taking a batch, an optimizer written by hand.
TEST(UserOperators, AreNotWhatAStepNeeds) {
  const std::vector<std::string> stack = {kMain, "mine.py(9): f"};
  EXPECT_TRUE(Beside({{"aten::mm", 2000, stack, -1}}).has_value());
  EXPECT_FALSE(Beside({{"aten::mm", 2000, stack, -1}, {"aten::relu", 200, stack, -1}}).has_value());
  EXPECT_FALSE(Beside({{"aten::linear", 2000, stack, -1}}).has_value());
  EXPECT_FALSE(Beside({{"aten::randn", 2000, stack}}).has_value());
  EXPECT_FALSE(Beside({{"aten::mul", 2000, stack}, {"aten::normal_", 300, stack}}).has_value());
  EXPECT_TRUE(Beside({{"aten::mul", 2000, stack}, {"aten::normal_", 100, stack}}).has_value());
  EXPECT_FALSE(Beside({{"aten::index", 2000, stack}}).has_value());
  EXPECT_FALSE(Beside({{"aten::mul_", 2000, stack, -1}}).has_value());
  const std::vector<Called> each(4, {"aten::mul", 600, stack, -1});
  EXPECT_FALSE(Beside(each, nullptr, 4).has_value());
  EXPECT_TRUE(Beside(each, nullptr, 3).has_value());
  // Copies of all parameters are not what trains them.
  const auto copies = Beside(std::vector<Called>(4, {"aten::copy_", 600, stack, -1}));
  ASSERT_TRUE(copies.has_value());
  EXPECT_TRUE(copies->copies);
}

TEST(UserOperators, AreALargePartOfTheStep) {
  EXPECT_FALSE(Beside({{"aten::sort", 1400, {kMain, "mine.py(9): f"}}}).has_value());
  EXPECT_TRUE(Beside({{"aten::sort", 1600, {kMain, "mine.py(9): f"}}}).has_value());
  // A snapshot is hardly anything else.
  EXPECT_TRUE(Beside({{"aten::clone", 600, {kMain, "mine.py(9): f"}}}).has_value());
  EXPECT_FALSE(Beside({{"aten::clone", 400, {kMain, "mine.py(9): f"}}}).has_value());
}

// Where nothing trains, only modules tell the model from the rest.
TEST(UserOperators, BesideAnInferenceTakeMore) {
  const auto serve = [](double us, const char* name, bool model) {
    Program program;
    for (int step = 0; step < kSteps; ++step) {
      program.Step(step);
      if (model) program.Model();
      program.Op(name, us, {kMain, "mine.py(9): f"}, -1);
    }
    return program.Find().has_value();
  };
  EXPECT_TRUE(serve(5000, "aten::sort", true));
  EXPECT_FALSE(serve(3000, "aten::sort", true));
  EXPECT_FALSE(serve(5000, "aten::mm", true));
  EXPECT_FALSE(serve(5000, "aten::sort", false));
}

}  // namespace
}  // namespace hone::replay
