// SPDX-License-Identifier: Apache-2.0
#include "replay/edits/host_growth.h"

#include <functional>
#include <string>
#include <vector>

#include "replay/edits/edits.h"
#include "replay/replayed_test.h"
#include "replay/whatif.h"

namespace hone::replay {
namespace {

constexpr int kSteps = 4;
constexpr double kStep = 4000;  // us

// Steps without a device: operators one after the other, 1 us apart.
class HostSteps {
 public:
  HostSteps() {
    MarkSteps(sketch_, kSteps, kStep);
    sketch_.builder().trace().info.format = trace::Format::kKineto;
  }
  HostSteps& Step(int number) {
    end_ = 1000 + (number + 1) * kStep;
    at_ = end_ - kStep + 10;
    return *this;
  }
  // The rest of the step is the optimizer's.
  HostSteps& Fill() { return Optimizer(end_ - at_ - 10); }
  HostSteps& Op(const char* name, double us, const std::string& dims = "",
                const std::string& type = "float") {
    trace::Builder& builder = sketch_.builder();
    trace::SliceInput op;
    op.start_ns = TraceSketch::Ns(at_);
    op.duration_ns = TraceSketch::Ns(us);
    op.name = builder.Intern(name);
    op.thread = builder.ThreadFor(1, TraceSketch::kMain);
    if (!dims.empty()) {
      op.detail = builder.Detail(
          {.dims = builder.Intern(dims),
           .types = builder.Intern("[\"" + type + "\", \"" + type + "\", \"" + type + "\"]")});
    }
    builder.Add(op);
    at_ += us + 1;
    return *this;
  }
  // Rows times a weight of 1024 x 1024, as addmm has them.
  HostSteps& Product(int rows, double us) {
    const std::string n = std::to_string(rows);
    return Op("aten::addmm", us, "[[1024], [" + n + ", 1024], [1024, 1024]]");
  }
  HostSteps& Gradient() {
    return Op("autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", 2);
  }
  HostSteps& Pause(double us) {
    at_ += us;
    return *this;
  }
  HostSteps& Optimizer(double us) {
    sketch_.Annotation("Optimizer.step#SGD.step", at_, at_ + us);
    Op("aten::_fused_sgd_", us);
    return *this;
  }
  HostSteps& Closure(const std::function<void()>& inside) {
    const double begin = at_++;
    inside();
    sketch_.Annotation("Optimizer.step#SGD.step", begin, at_++);
    return *this;
  }
  Replayed Finish() { return Replayed(std::move(sketch_)); }

 private:
  TraceSketch sketch_;
  double at_ = 0, end_ = 0;
};

Replayed Repeat(const std::function<void(HostSteps&)>& step) {
  HostSteps steps;
  for (int s = 0; s < kSteps; ++s) {
    step(steps.Step(s));
    steps.Fill();
  }
  return steps.Finish();
}

// How much longer than the recorded step one with `times` the samples is.
double Longer(const Replayed& replayed, double times, Guess guess = Guess::kLikely) {
  const HostGrowth growth(replayed.model());
  Plan plan(replayed.graph());
  growth.Apply(guess, times, plan);
  EXPECT_EQ(plan.samples, growth.rounds() > 1 ? 1 : times);
  Nanos before = 0, after = 0;
  for (TaskId t = 0; t < replayed.graph().tasks.size(); ++t) {
    before += replayed.At(t).duration_ns;
    after += plan.duration_ns[t];
  }
  return static_cast<double>(after - before) / 1e3 / kSteps;
}

// 2 x 2 x 1024² FLOPs take 46.6 us at 90 a nanosecond; the other 353 are for the call, of 8 us, and
// for weights.
TEST(HostGrowth, AProductOfFewRowsReadsItsWeightsOnce) {
  const Replayed replayed = Repeat([](HostSteps& steps) { steps.Product(2, 400); });
  EXPECT_NEAR(Longer(replayed, 2), 0, 1);
  EXPECT_NEAR(Longer(replayed, 16), 8 + 16 * 46.6 - 400, 5);
  EXPECT_GT(Longer(replayed, 16, Guess::kLeast), Longer(replayed, 16));
  EXPECT_LT(Longer(replayed, 16, Guess::kMost), Longer(replayed, 16));
}

TEST(HostGrowth, AProductThatComputesAllTheTimeGrowsByAsMuch) {
  const Replayed replayed = Repeat([](HostSteps& steps) { steps.Product(32, 740); });
  for (const Guess guess : {Guess::kLeast, Guess::kLikely}) {
    EXPECT_NEAR(Longer(replayed, 4, guess), 3 * 740, 30);
  }
}

// However slow the core: weights and calls take only so much.
TEST(HostGrowth, ASlowCoreIsNoSmallBatch) {
  const Replayed replayed = Repeat([](HostSteps& steps) { steps.Product(32, 3500); });
  EXPECT_GT(Longer(replayed, 2), 3500 * 0.75);
}

// The rate of a core is the fastest that the recording shows.
TEST(HostGrowth, AFastProductTellsOfTheCore) {
  const auto two = [](HostSteps& steps) { steps.Product(2, 400).Product(256, 3000); };
  const Replayed replayed = Repeat(two);
  const double rate = 2.0 * 256 * 1024 * 1024 / 3000e3;
  const double own = 2.0 * 2 * 1024 * 1024 / rate / 1e3;
  EXPECT_NEAR(Longer(replayed, 16), (8 + 16 * own - 400) + 15 * 3000, 60);
}

// Half the rate, and twice the bytes.
TEST(HostGrowth, DoublesTakeTwiceAsLong) {
  const Replayed replayed = Repeat([](HostSteps& steps) {
    steps.Op("aten::addmm", 400, "[[1024], [2, 1024], [1024, 1024]]", "double");
  });
  EXPECT_NEAR(Longer(replayed, 16), 8 + 16 * 93.2 - 400, 10);
}

TEST(HostGrowth, OptimizersAndGradientsTakeAsLongForAnyBatch) {
  const Replayed replayed =
      Repeat([](HostSteps& steps) { steps.Product(2, 400).Gradient().Optimizer(800); });
  EXPECT_NEAR(Longer(replayed, 16), 8 + 16 * 46.6 - 400, 5);
}

// step() with a closure runs the model inside its mark; what is its own comes after.
TEST(HostGrowth, WhatAClosureComputesGrows) {
  const Replayed replayed = Repeat([](HostSteps& steps) {
    steps.Closure([&] {
      steps.Product(32, 740).Op("autograd::engine::evaluate_function: AddmmBackward0", 2);
      steps.Op("aten::_fused_sgd_", 100);
    });
  });
  EXPECT_NEAR(Longer(replayed, 2), 740, 30);
}

// Nobody knows what they do: all but the call grows.
TEST(HostGrowth, UnknownOperatorsAndPausesGrow) {
  const Replayed op = Repeat([](HostSteps& steps) { steps.Op("mine::op", 508); });
  EXPECT_NEAR(Longer(op, 2), 500, 1);
  // 549 and the us between operators, without the 50 that dispatching may take.
  const Replayed pause =
      Repeat([](HostSteps& steps) { steps.Op("aten::t", 2).Pause(549).Op("aten::t", 2); });
  EXPECT_NEAR(Longer(pause, 2), 500, 1);
  EXPECT_NEAR(Longer(pause, 2, Guess::kMost), 0, 1);
}

// Sixteen products with one row each and one weight.
TEST(HostGrowth, SamplesOneByOneGoTogether) {
  const Replayed replayed = Repeat([](HostSteps& steps) {
    for (int i = 0; i < 16; ++i) steps.Product(1, 100);
    steps.Gradient().Gradient();
  });
  const HostGrowth growth(replayed.model());
  EXPECT_EQ(growth.rounds(), 16);
  // 16 products of 100 us become one that reads the weight and computes 16 rows in 373; what comes
  // once a step stays.
  EXPECT_NEAR(Longer(replayed, 16), -1600 + 8 + 373 - 15, 25);
}

// As many weights as products: layers.
TEST(HostGrowth, LayersAreNoLoop) {
  const Replayed replayed = Repeat([](HostSteps& steps) {
    for (int i = 0; i < 16; ++i) steps.Product(1, 100);
    for (int i = 0; i < 32; ++i) steps.Gradient();
  });
  EXPECT_EQ(HostGrowth(replayed.model()).rounds(), 1);
}

TEST(SmallBatchEdit, OnTheHostNeedsOperatorsAndShapes) {
  const Replayed without = Repeat([](HostSteps& steps) { steps.Op("aten::addmm", 400); });
  EXPECT_FALSE(FindSmallBatch(without.model()).has_value());
  HostSteps steps;
  for (int s = 0; s < kSteps; ++s) steps.Step(s).Product(2, 400);
  const Replayed few = steps.Finish();
  EXPECT_EQ(FindSmallBatch(few.model()).why_not(),
            "operators take 10.0 % of a step; of the rest nobody knows what it is for");
  const Replayed many = Repeat([](HostSteps& steps) {
    for (int i = 0; i < 8; ++i) steps.Product(2, 400);
  });
  ASSERT_TRUE(FindSmallBatch(many.model()).has_value());
  EXPECT_GT(WhatIf(many.model()).Predict({"small-batch"}).samples, 1);
}

}  // namespace
}  // namespace hone::replay
