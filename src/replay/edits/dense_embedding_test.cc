// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <string>
#include <vector>

#include "replay/edits/edits.h"
#include "replay/edits/embedding_tables.h"
#include "replay/replayed_test.h"

namespace hone::replay {
namespace {

constexpr double kStep = 15'000;  // us

struct Program {
  const char* optimizer = "Optimizer.step#Adam.step";
  int indices = 100;
  int shaped_steps = 4;
  bool tied = false;      // the table is an output layer's weight, too
  bool concrete = true;   // numbers are recorded beside shapes
  bool lists = false;     // the optimizer takes lists
  int known_lookups = 4;  // steps in which the recorder noted the shapes of lookups
  int updates = 4;        // operators of the optimizer on each parameter
};

// Four steps on a table of 100,000 x 32: 1 ms to zero its gradient, 1 ms for each update.
class Written {
 public:
  explicit Written(const Program& program) : program_(program) {
    MarkSteps(sketch_, 4, kStep);
    sketch_.builder().trace().info.format = trace::Format::kKineto;
    for (int step = 0; step < 4; ++step) Step(step);
  }
  Replayed Finish() { return Replayed(std::move(sketch_)); }

 private:
  void Step(int step) {
    shaped_ = step < program_.shaped_steps;
    const double at = 1000 + step * kStep;
    const std::string table = "[100000, 32]";
    const std::string looked_up = "[" + std::to_string(program_.indices) + ", 32]";
    const std::string indices = "[" + std::to_string(program_.indices) + "]";
    Op("aten::embedding", at + 10, 50, "[" + table + ", " + indices + ", [], [], []]");
    if (program_.tied) {
      Op("autograd::engine::evaluate_function: MmBackward0", at + 70, 40, "");
      Op("aten::mm", at + 75, 30, "[[100000, 8], [8, 32]]");
      Op("aten::t", at + 106, 3, "[" + table + "]");
    }
    Op("autograd::engine::evaluate_function: EmbeddingBackward0", at + 120, 1080, "");
    Op("aten::embedding_dense_backward", at + 125, 1070,
       step < program_.known_lookups ? "[" + looked_up + ", " + indices + ", [], [], []]" : "",
       program_.concrete ? R"(["", "", "100000", "-1", "False"])" : R"(["", "", "", "", ""])");
    Op("aten::zero_", at + 130, 1000, "[" + table + "]");
    Op("autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", at + 1210, 10, "");
    Op("aten::detach", at + 1212, 4, "[" + table + "]");
    const int updates = program_.updates;
    sketch_.Annotation(program_.optimizer, at + 1300, at + 1310 + 1020 * updates);
    for (int i = 0; i < updates; ++i) {
      if (program_.lists) {
        Op("aten::_foreach_mul_", at + 1300 + 1020 * i, 1000, "[[" + table + ", [100000, 96]], []]",
           "[]", R"(["TensorList", "Scalar"])");
        continue;
      }
      Op("aten::mul_", at + 1300 + 1020 * i, 1000, "[" + table + ", []]");
      Op("aten::mul_", at + 2305 + 1020 * i, 5, "[[64], []]");
    }
  }
  void Op(std::string_view name, double at, double us, const std::string& dims,
          std::string_view concrete = "[]", std::string_view types = "[]") {
    trace::Builder& builder = sketch_.builder();
    trace::SliceInput op;
    op.start_ns = TraceSketch::Ns(at);
    op.duration_ns = TraceSketch::Ns(us);
    op.name = builder.Intern(name);
    op.thread = builder.ThreadFor(1, TraceSketch::kMain);
    op.link = -1;
    if (shaped_ && !dims.empty()) {
      op.detail = builder.Detail({.dims = builder.Intern(dims),
                                  .types = builder.Intern(types),
                                  .concrete = builder.Intern(concrete)});
    }
    builder.Add(op);
  }

  const Program program_;
  TraceSketch sketch_;
  bool shaped_ = false;
};

// Of a step, in us.
double Gone(const Replayed& r, const std::vector<const char*>& fixes, Guess guess = Guess::kLeast) {
  Plan plan(r.graph());
  for (const char* fix : fixes) {
    const FoundEdit edit = FindEdit(fix)->find(r.model());
    EXPECT_TRUE(edit.has_value()) << edit.why_not();
    if (edit) (*edit)->Apply(r.model(), guess, plan);
  }
  Nanos gone = 0;
  for (TaskId t = 0; t < r.graph().tasks.size(); ++t) {
    gone += r.At(t).duration_ns - plan.duration_ns[t];
  }
  return static_cast<double>(gone) / 1e3 / static_cast<double>(r.graph().steps);
}

constexpr const char* kFix = "dense-embedding-gradients";

// SparseAdam takes 150 + 100 * (0.4 + 32 * 0.01) = 222 us, at least twice that. Of four updates
// 1005 us each go, up to the next operator; of what zeroes the gradient 2 us stay.
TEST(DenseEmbedding, WhatGoesOverTheTableGoes) {
  const Replayed r = Written({}).Finish();
  const EmbeddingTables tables = LookAtEmbeddingTables(r.model());
  ASSERT_EQ(tables.shapes.size(), 1U);
  EXPECT_EQ(tables.shapes[0].rows, 100'000);
  EXPECT_EQ(tables.shapes[0].width, 32);
  EXPECT_EQ(tables.shapes[0].indices, 100);
  EXPECT_EQ(tables.shapes[0].tables, 1);
  EXPECT_EQ(tables.shapes[0].form, SparseForm::kAdam);
  EXPECT_NEAR(Gone(r, {kFix}), 998 + 4 * 1005 - 2 * 222, 10);
  EXPECT_GT(Gone(r, {kFix}, Guess::kLikely), 998 + 4 * 1005 - 222);
  EXPECT_GT(Gone(r, {kFix}, Guess::kMost), Gone(r, {kFix}, Guess::kLikely));
}

// The tail of the steps has no shapes; numbers beside shapes are in new recordings only.
TEST(DenseEmbedding, OneStepWithShapesTellsOfTheOthers) {
  const double all = Gone(Written({}).Finish(), {kFix});
  EXPECT_NEAR(Gone(Written({.shaped_steps = 1}).Finish(), {kFix}), all, 10);
  EXPECT_NEAR(Gone(Written({.concrete = false}).Finish(), {kFix}), all, 1);
}

// Where every step looks up another number of rows, recorders note it in some steps only.
TEST(DenseEmbedding, LookupsAreCountedWhereTheyAreKnown) {
  const Replayed r = Written({.indices = 4000, .known_lookups = 1}).Finish();
  const EmbeddingTables tables = LookAtEmbeddingTables(r.model());
  ASSERT_EQ(tables.shapes.size(), 1U);
  EXPECT_EQ(tables.shapes[0].tables, 1);
  EXPECT_EQ(tables.shapes[0].indices, 4000);
  EXPECT_EQ(tables.calls.size(), 4U * 6);
  EXPECT_FALSE(FindDenseEmbedding(Written({.indices = 10'001, .known_lookups = 1}).Finish().model())
                   .has_value());
}

TEST(DenseEmbedding, NothingWhereManyRowsChangeOrSomethingElseIsDense) {
  EXPECT_TRUE(FindDenseEmbedding(Written({.indices = 10'000}).Finish().model()).has_value());
  EXPECT_FALSE(FindDenseEmbedding(Written({.indices = 10'001}).Finish().model()).has_value());
  EXPECT_FALSE(FindDenseEmbedding(Written({.tied = true}).Finish().model()).has_value());
  const FoundEdit blind = FindDenseEmbedding(Written({.shaped_steps = 0}).Finish().model());
  ASSERT_FALSE(blind.has_value());
  EXPECT_EQ(blind.why_not(), "the sizes of tensors are not in this trace");
}

// Three quarters of what the optimizer goes over are no table.
TEST(DenseEmbedding, OfListsItIsTheTablesShare) {
  const Replayed r = Written({.lists = true}).Finish();
  EXPECT_NEAR(Gone(r, {kFix}), 998 + 0.25 * (3 * 1020 + 1030) - 2 * 222, 10);
}

TEST(DenseEmbedding, SgdTakesThemUnlessItHasMomentum) {
  const auto form = [](int updates) {
    const Replayed r =
        Written({.optimizer = "Optimizer.step#SGD.step", .updates = updates}).Finish();
    return LookAtEmbeddingTables(r.model()).shapes.at(0).form;
  };
  EXPECT_EQ(form(1), SparseForm::kAsIs);
  EXPECT_EQ(form(3), SparseForm::kOther);
}

// Of 4 ms that the optimizer's step takes, the fused one has what is no table's: 20 us and a little
// code, of a step of 15 ms.
TEST(DenseEmbedding, OthersDoNotTakeTheSameTime) {
  const Replayed r = Written({.updates = 12}).Finish();
  const double alone = Gone(r, {kFix}), both = Gone(r, {kFix, "unfused-optimizer"});
  EXPECT_GT(Gone(r, {"unfused-optimizer"}), 4000);
  EXPECT_GE(both, alone);
  EXPECT_LT(both, alone + 250);
}

}  // namespace
}  // namespace hone::replay
