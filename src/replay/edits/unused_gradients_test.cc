// SPDX-License-Identifier: Apache-2.0
#include "replay/edits/unused_gradients.h"

#include <cmath>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "replay/edits/backward_steps_test.h"

namespace hone::replay {
namespace {

constexpr Guess kGuesses[] = {Guess::kLeast, Guess::kLikely, Guess::kMost};

// The edit on four steps, each of which is what `step` writes down.
class Edited {
 public:
  explicit Edited(const std::function<void(BackwardSteps&)>& step, bool device = false)
      : replayed_(Write(step, device)) {
    auto found = FindEdit("unused-gradients")->find(replayed_.model());
    if (found) edit_ = std::move(*found);
  }

  bool present() const { return edit_ != nullptr; }
  bool of_a_model() const { return LookAtUnusedGradients(replayed_.model()).of_a_model(); }
  // Of a step's host time, in us.
  double Gone(Guess guess) const {
    const Plan plan = After(guess);
    Nanos gone = 0;
    for (TaskId t = 0; t < replayed_.graph().tasks.size(); ++t) {
      if (replayed_.graph().lanes[replayed_.At(t).lane].kind != LaneKind::kThread) continue;
      gone += replayed_.At(t).duration_ns - plan.duration_ns[t];
    }
    return std::round(static_cast<double>(gone) / 1e2 / kTrainingSteps) / 10;
  }
  std::vector<double> Gone() const {
    return {Gone(Guess::kLeast), Gone(Guess::kLikely), Gone(Guess::kMost)};
  }
  // Of a step, in kernels of that name afterwards, in us.
  double Kernels(std::string_view name, Guess guess) const {
    const Plan plan = After(guess);
    Nanos all = 0;
    for (trace::RowId w = 0; w < replayed_.trace().device.size(); ++w) {
      if (replayed_.trace().DeviceName(w) != name) continue;
      all += plan.duration_ns[replayed_.graph().of_device[w]];
    }
    return std::round(static_cast<double>(all) / 1e3 / kTrainingSteps);
  }
  std::vector<double> Kernels(std::string_view name) const {
    return {Kernels(name, Guess::kLeast), Kernels(name, Guess::kLikely),
            Kernels(name, Guess::kMost)};
  }

 private:
  static Replayed Write(const std::function<void(BackwardSteps&)>& step, bool device) {
    BackwardSteps steps(device);
    for (int s = 0; s < kTrainingSteps; ++s) step(steps.Step(s));
    return steps.Finish();
  }
  Plan After(Guess guess) const {
    Plan plan(replayed_.graph());
    edit_->Apply(replayed_.model(), guess, plan);
    return plan;
  }

  const Replayed replayed_;
  std::unique_ptr<Edit> edit_;
};

using Us = std::vector<double>;  // least, likely, most

TEST(UnusedGradients, AreNoneWhereAllAreReset) {
  EXPECT_FALSE(Edited([](BackwardSteps& steps) {
                 steps.Forward().Product().Sets().Product(1).Sets().Optimizer();
               }).present());
  EXPECT_FALSE(Edited([](BackwardSteps& steps) { steps.Forward().Forward(); }).present());
}

TEST(UnusedGradients, AreNoneWhereMicroBatchesAddUp) {
  EXPECT_FALSE(Edited([](BackwardSteps& steps) {
                 steps.Forward().Product().Sets().Product(1).Sets();
                 steps.Forward().Product().Adds().Product(1).Adds().Optimizer();
               }).present());
}

// Whose they are is not known, or that anyone's are not.
TEST(UnusedGradients, AreNoneWhereNothingOrZerosReset) {
  EXPECT_FALSE(Edited([](BackwardSteps& steps) {
                 steps.Forward().Product().Adds().Product(1).Adds().Optimizer();
               }).present());
  EXPECT_FALSE(Edited([](BackwardSteps& steps) {
                 steps.Op("aten::zero_").Forward().Product().Sets().Product(1).Adds().Optimizer();
               }).present());
}

// Their optimizer may be there and reset nothing.
TEST(UnusedGradients, AreNoneWhereAllOfAPassAddUp) {
  EXPECT_FALSE(Edited([](BackwardSteps& steps) {
                 steps.Forward().Product().Sets().Sets().Optimizer();
                 steps.Forward().Product().Adds().Optimizer();
               }).present());
}

// The tail: two products and two leaves, and the 1 us between them.
TEST(UnusedGradients, OfATeacherThatComesLastGoWhole) {
  const Edited edited([](BackwardSteps& steps) {
    steps.Forward().Product().Sets().Product(1).Sets();
    steps.Product().Adds().Product(1).Adds().Optimizer();
  });
  ASSERT_TRUE(edited.present());
  EXPECT_EQ(edited.Gone(), (Us{43, 43, 43}));
  EXPECT_TRUE(edited.of_a_model());
}

// Its first layer makes one product less than others, as its input needs no gradient. Were that
// chance, 0.35 of its node would go, of the other's the second product (0.9 of 2 us), and leaves.
TEST(UnusedGradients, OfATeacherThatComesFirstGoUpToWhereItsGraphEnds) {
  const Edited edited([](BackwardSteps& steps) {
    steps.Forward().Product().Adds().Product(1).Adds();
    steps.Product().Sets().Product(1).Sets().Optimizer();
  });
  ASSERT_TRUE(edited.present());
  EXPECT_EQ(edited.Gone(), (Us{20 + 3.5 + 1.8, 43, 43}));
  EXPECT_TRUE(edited.of_a_model());
}

TEST(UnusedGradients, OfAnEmbeddingEndTheGraph) {
  const Edited edited([](BackwardSteps& steps) {
    steps.Forward().Product().Adds().Node("EmbeddingDenseBackward0", 0).Adds();
    steps.Product().Sets().Product().Sets().Optimizer();
  });
  ASSERT_TRUE(edited.present());
  EXPECT_EQ(edited.Gone(), (Us{20 + 3.5 + 1.8, 43, 43}));
}

// Behind where the graph ends stands one layer more, whose input needs a gradient: of it goes a
// part, and of the others all.
TEST(UnusedGradients, OfAnotherModelBehindGoInPart) {
  const Edited edited([](BackwardSteps& steps) {
    steps.Forward().Product().Adds().Product(1).Adds().Product().Adds();
    steps.Product().Sets().Product().Sets().Optimizer();
  });
  ASSERT_TRUE(edited.present());
  // Leaves, one node of one product and two of two; 43 and a leaf and a product of 2 us.
  EXPECT_EQ(edited.Gone(), (Us{30 + 3.5 + 2 * 1.8, 55, 55}));
}

// The pass goes through the base to the adapters before it.
TEST(UnusedGradients, OfAFrozenBaseBetweenAdaptersGoInPart) {
  const Edited edited([](BackwardSteps& steps) {
    steps.Forward().Product().Sets().Product().Adds().Product().Sets();
    steps.Product().Adds().Product(1).Sets().Optimizer();
  });
  ASSERT_TRUE(edited.present());
  EXPECT_EQ(edited.Gone(), (Us{20 + 2 * 1.8, 24, 24}));
  EXPECT_FALSE(edited.of_a_model());
}

// Weights are frozen and biases learn, or the other way round: a bias takes no product.
TEST(UnusedGradients, OfOneOfAProductsTwoParameters) {
  const Edited weight([](BackwardSteps& steps) {
    steps.Forward().Product().Sets().Node("TBackward0", 0).Adds();
    steps.Product().Sets().Node("TBackward0", 0).Sets().Optimizer();
  });
  ASSERT_TRUE(weight.present());
  EXPECT_EQ(weight.Gone(), (Us{21 + 1.8, 21 + 2, 21 + 2}));  // the transpose goes with its leaf
  const Edited bias([](BackwardSteps& steps) {
    steps.Forward().Product().Adds().Node("TBackward0", 0).Sets();
    steps.Product().Sets().Node("TBackward0", 0).Sets().Optimizer();
  });
  ASSERT_TRUE(bias.present());
  EXPECT_EQ(bias.Gone(), (Us{10, 10, 10}));
}

// The gradient of the input, which somebody reads, comes between a product and its weight's.
TEST(UnusedGradients, OfAWeightAtTheEndTakeItsProduct) {
  const Edited edited([](BackwardSteps& steps) {
    steps.Forward().Product().Sets().Product().Sets().Node("TBackward0", 0).Adds().Optimizer();
  });
  ASSERT_TRUE(edited.present());
  EXPECT_EQ(edited.Gone(), (Us{21 + 1.8, 21 + 2, 21 + 2}));
}

// Behind the leaf of the bias comes that of the weight.
TEST(UnusedGradients, OfABiasAndAWeightGoTogether) {
  const Edited edited([](BackwardSteps& steps) {
    steps.Forward().Product().Adds().Node("TBackward0", 0).Adds();
    steps.Product(1).Adds().Node("TBackward0", 0).Adds();
    steps.Product().Sets().Node("TBackward0", 0).Sets().Optimizer();
  });
  ASSERT_TRUE(edited.present());
  EXPECT_EQ(edited.Gone(Guess::kLikely), 8 * 10 + 7);
}

TEST(UnusedGradients, OfACheckpointedBlockGoWithItsForwardPass) {
  const Edited edited([](BackwardSteps& steps) {
    steps.Forward().Product().Sets().Product().Adds();
    steps.Open().Forward().Product(1).Adds();
    steps.CloseNode("CheckpointFunctionBackward").Optimizer();
  });
  ASSERT_TRUE(edited.present());
  // Two nodes, a forward operator and two nodes more; the frame begins 1 us before the operator.
  EXPECT_EQ(edited.Gone(Guess::kLikely), 5 * 10 + 4 + 1);
}

TEST(UnusedGradients, TakeTheirKernelsAlong) {
  const Edited edited(
      [](BackwardSteps& steps) {
        steps.Forward().Product(2, "teacher").Adds("teacher's sum").Product(1, "teacher");
        steps.Adds("teacher's sum").Product(2, "student").Sets().Product(1, "student").Sets();
        steps.Optimizer();
      },
      true);
  ASSERT_TRUE(edited.present());
  EXPECT_EQ(edited.Kernels("teacher"), (Us{20 + 2 + 13, 0, 0}));
  EXPECT_EQ(edited.Kernels("teacher's sum"), (Us{0, 0, 0}));
  EXPECT_EQ(edited.Kernels("student"), (Us{60, 60, 60}));
  for (const Guess guess : kGuesses) EXPECT_GT(edited.Gone(guess), 20);
}

TEST(UnusedGradients, TakeTheKernelOfTheirProduct) {
  const Edited edited(
      [](BackwardSteps& steps) {
        steps.Forward().Product(2, "adapter").Sets().Product(2, "base").Adds("sum");
        steps.Product(2, "adapter").Sets().Optimizer();
      },
      true);
  ASSERT_TRUE(edited.present());
  EXPECT_EQ(edited.Kernels("adapter"), (Us{80, 80, 80}));
  EXPECT_EQ(edited.Kernels("base"), (Us{20 + 2, 20, 20}));
  EXPECT_EQ(edited.Kernels("sum"), (Us{0, 0, 0}));
}

// A convolution's operators do not tell what it computes; its launches do.
TEST(UnusedGradients, WithoutProductsLaunchesTellWhereTheGraphEnds) {
  const auto likely = [](int launches) {
    const Edited edited(
        [&](BackwardSteps& steps) {
          const char* const node = "ConvolutionBackward0";
          steps.Forward().Node(node, 2, "teacher", false).Adds();
          steps.Node(node, launches, "teacher", false).Adds();
          steps.Node(node, 2, "student", false).Sets().Optimizer();
        },
        true);
    return edited.present() ? edited.Kernels("teacher", Guess::kLikely) : -1;
  };
  EXPECT_EQ(likely(1), 0);
  EXPECT_EQ(likely(2), 4 * 10);
}

// Nor is anything launched on a CPU: each gradient is a result.
TEST(UnusedGradients, WithoutADeviceResultsTellWhereTheGraphEnds) {
  const auto likely = [](int results) {
    const Edited edited([&](BackwardSteps& steps) {
      const char* const node = "ConvolutionBackward0";
      steps.Forward().Node(node, 3, "", false).Adds().Node(node, results, "", false).Adds();
      steps.Node(node, 3, "", false).Sets().Optimizer();
    });
    return edited.present() ? edited.Gone(Guess::kLikely) : -1;
  };
  EXPECT_EQ(likely(2), 4 * 10 + 3);
  EXPECT_EQ(likely(3), 2 * 10 + 2 * 5);
}

}  // namespace
}  // namespace hone::replay
