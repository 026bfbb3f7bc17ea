// SPDX-License-Identifier: Apache-2.0
#include "replay/edits/recompute.h"

#include <gtest/gtest.h>

#include <string>

#include "analyze/facts.h"
#include "analyze/fixture_test.h"

namespace hone::replay {
namespace {

struct Op {
  const char* name;
  bool numbered = true;
};

// One step: a forward pass, and one node with these operators in it, 10 us each.
class Pass {
 public:
  explicit Pass(const std::vector<const char*>& forward) {
    fixture_.Annotation(0, kMillisecond, "ProfilerStep#1");
    for (const char* name : forward) Add(name, true);
  }
  Pass& Node(const std::vector<Op>& ops, bool in_function = true) {
    const Nanos length = static_cast<Nanos>(ops.size()) * 10'000 + 1'000;
    fixture_.Op(at_, length, "autograd::engine::evaluate_function: AddmmBackward0", {}, 1, 2);
    if (in_function) fixture_.Op(at_ + 100, length - 200, "AddmmBackward0", {}, 1, 2);
    begin_ = at_ + (in_function ? 100 : 0);
    at_ += 500;
    for (const Op& op : ops) {
      const std::string_view name = op.name;
      if (name == "node") {
        fixture_.Op(at_, 8'000, "autograd::engine::evaluate_function: MulBackward0", {}, 1, 2);
        fixture_.Op(at_ + 100, 5'000, "aten::linear", {}, 3, 2);
        at_ += 10'000;
      } else {
        Add(op.name, op.numbered);
      }
    }
    at_ += 500;
    return *this;
  }
  std::vector<Recompute::Region> Find() {
    const trace::Trace trace = fixture_.Finish();
    const analyze::Facts facts = analyze::Analyze(trace);
    const auto model = Model::Build(trace, facts);
    if (!model.has_value()) ADD_FAILURE() << model.why_not();
    return Recompute(**model).regions();
  }
  Nanos begin() const { return begin_; }

 private:
  void Add(const char* name, bool numbered) {
    const int thread = begin_ == 0 ? 1 : 2;
    fixture_.Op(at_, 8'000, name, {}, numbered ? ++number_ : -1, thread);
    fixture_.Op(at_ + 1'000, 2'000, "aten::view", {}, numbered ? number_ : -1, thread);
    at_ += 10'000;
  }

  analyze::TraceFixture fixture_;
  Nanos at_ = 10'000, begin_ = 0;
  std::int64_t number_ = 0;
};

const std::vector<const char*> kForward = {"aten::linear", "aten::gelu", "aten::mul",
                                           "aten::linear"};

TEST(Recompute, FromTheStartOfTheNodeToItsGradients) {
  for (const bool in_function : {true, false}) {
    Pass pass(kForward);
    pass.Node({{"aten::linear"}, {"aten::gelu"}, {"aten::mul"}, {"aten::mm", false}}, in_function);
    const Nanos begin = pass.begin();
    const std::vector<Recompute::Region> found = pass.Find();
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].operators, 3U);
    EXPECT_EQ(found[0].end - found[0].first, 6U) << "with a view in each";
    EXPECT_EQ(found[0].span.begin_ns, begin);
    EXPECT_EQ(found[0].span.length(), 30'500 - (in_function ? 100 : 0));
  }
}

// use_reentrant=True: from there on nodes of its own follow, and what is in them is not meant.
TEST(Recompute, EndsAtABackwardPassOfItsOwn) {
  const std::vector<Recompute::Region> found =
      Pass(kForward)
          .Node({{"aten::detach", false}, {"aten::linear"}, {"aten::gelu"}, {"node"}, {"node"}})
          .Find();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].operators, 2U);
  EXPECT_EQ(found[0].span.length(), 22'000);
}

// What saves the generators' state, say.
TEST(Recompute, AFewOthersMayStandBetween) {
  EXPECT_EQ(Pass({"aten::linear", "aten::gelu", "aten::mul", "aten::add", "aten::mul",
                  "aten::linear", "aten::tanh", "aten::sub", "aten::linear"})
                .Node({{"aten::clone"},
                       {"aten::linear"},
                       {"aten::gelu"},
                       {"aten::mul"},
                       {"aten::add"},
                       {"aten::mul"},
                       {"aten::linear"}})
                .Find()
                .size(),
            1U);
}

// A function's own backward that calls layers, or computes its activations anew by hand: grad mode
// is off.
TEST(Recompute, GradientsByLayersAreNoForwardPass) {
  EXPECT_TRUE(Pass(kForward)
                  .Node({{"aten::linear", false}, {"aten::gelu", false}, {"aten::mul", false}})
                  .Find()
                  .empty());
}

// create_graph=True numbers gradients: they are in no order of the forward pass, or too short and
// without a layer.
TEST(Recompute, GradientsOfGradientsAreNoForwardPass) {
  EXPECT_TRUE(Pass(kForward)
                  .Node({{"aten::sigmoid"}, {"aten::linear"}, {"aten::mul"}, {"aten::flatten"}})
                  .Find()
                  .empty());
  EXPECT_TRUE(Pass({"aten::mul", "aten::mul", "aten::linear"})
                  .Node({{"aten::mul"}, {"aten::mul"}, {"aten::mul"}})
                  .Find()
                  .empty());
  EXPECT_TRUE(Pass(kForward).Node({{"aten::linear"}}).Find().empty()) << "one alone tells nothing";
}

// A model that multiplies by hand has no layers to be known by.
TEST(Recompute, ManyInTheSameOrderNeedNoLayer) {
  const std::vector<const char*> forward(9, "aten::matmul");
  const std::vector<Op> again(8, Op{"aten::matmul"});
  EXPECT_EQ(Pass(forward).Node(again).Find().size(), 1U);
  EXPECT_TRUE(Pass(forward).Node({again.begin(), again.begin() + 7}).Find().empty());
}

}  // namespace
}  // namespace hone::replay
