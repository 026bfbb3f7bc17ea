// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "analyze/facts.h"
#include "analyze/fixture_test.h"
#include "replay/whatif.h"

namespace hone::replay {
namespace {

// Steps on the CPU, each of `ops` operators of `length` ns, 1 us apart, that make a node each.
class Inference {
 public:
  Inference(int ops, Nanos length, bool nodes = true) {
    const Nanos pitch = length + 1'000, step = ops * pitch + 2'000;
    std::int64_t sequence = 0;
    for (int s = 0; s < 6; ++s) {
      const std::string name = "ProfilerStep#" + std::to_string(s + 1);
      fixture_.Annotation(s * step, step, name.c_str());
      for (int i = 0; i < ops; ++i) {
        fixture_.Op(s * step + 1'000 + i * pitch, length, "aten::linear", {},
                    nodes ? ++sequence : -1);
      }
    }
  }
  void Backward() { fixture_.Op(5'000, 100, "autograd::engine::evaluate_function: X", {}, -1, 2); }

  // Of the step, what goes; -1 with the reason: nothing to change.
  double Gone(std::string& why) {
    const trace::Trace trace = fixture_.Finish();
    const analyze::Facts facts = analyze::Analyze(trace);
    const auto model = Model::Build(trace, facts);
    if (!model) {
      why = model.why_not();
      return -1;
    }
    const WhatIf whatif(**model);
    const auto& found = whatif.Find("grad-in-inference");
    if (!found) {
      why = found.why_not();
      return -1;
    }
    return 1 - whatif.Predict({"grad-in-inference"}).likely_ns / whatif.bare().likely_ns;
  }

 private:
  analyze::TraceFixture fixture_;
};

TEST(GradInInference, SmallOperatorsLoseAQuarterOfTheirTime) {
  std::string why;
  const double gone = Inference(40, 4'000).Gone(why);
  EXPECT_GT(gone, 0.18) << why;
  EXPECT_LT(gone, 0.35);
}

TEST(GradInInference, LargeOnesHardlyAnything) {
  std::string why;
  const double gone = Inference(10, 1'000'000).Gone(why);
  EXPECT_GE(gone, 0) << why;
  EXPECT_LT(gone, 0.005);
}

TEST(GradInInference, NothingWithoutNodesOrWithABackwardPass) {
  std::string why;
  EXPECT_EQ(Inference(40, 4'000, false).Gone(why), -1);
  EXPECT_EQ(why, "no autograd graph is made in the steps");
  Inference training(40, 4'000);
  training.Backward();
  EXPECT_EQ(training.Gone(why), -1);
  EXPECT_EQ(why, "the steps have a backward pass");
}

}  // namespace
}  // namespace hone::replay
