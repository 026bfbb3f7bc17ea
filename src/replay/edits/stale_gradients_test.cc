// SPDX-License-Identifier: Apache-2.0
#include "replay/edits/stale_gradients.h"

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "replay/edits/backward_steps_test.h"
#include "replay/edits/edits.h"

namespace hone::replay {
namespace {

// What `step` writes down for each of the steps.
StaleGradients Look(const std::function<void(BackwardSteps&, int)>& step, bool device = false) {
  BackwardSteps steps(device);
  for (int s = 0; s < kTrainingSteps; ++s) step(steps.Step(s), s);
  const Replayed replayed = steps.Finish();
  return LookAtStaleGradients(replayed.model());
}

// Two layers, all of whose gradients are added to ones that are there.
StaleGradients AddsBehind(const std::function<void(BackwardSteps&)>& before_pass) {
  return Look([&](BackwardSteps& steps, int) {
    steps.Forward().Forward();
    before_pass(steps);
    steps.Product().Adds().Product().Adds().Optimizer();
  });
}

TEST(StaleGradients, AreNoneWhereAllAreReset) {
  const StaleGradients found = Look([](BackwardSteps& steps, int) {
    steps.Forward().Forward().Product().Sets().Product().Sets().Optimizer();
  });
  EXPECT_EQ(found.passes.size(), 4u);
  EXPECT_EQ(found.stale, 0u);
  EXPECT_TRUE(found.set_anywhere);
  EXPECT_FALSE(found.none_reset());
  EXPECT_FALSE(found.some_stale());
}

TEST(StaleGradients, AreThoseThatAddBehindEveryStep) {
  BackwardSteps steps;
  for (int s = 0; s < kTrainingSteps; ++s) {
    steps.Step(s).Forward("teacher::linear").Forward("student::linear");
    steps.Product().Sets().Product().Adds().Adds().Optimizer();
  }
  const Replayed replayed = steps.Finish();
  const StaleGradients found = LookAtStaleGradients(replayed.model());
  EXPECT_TRUE(found.some_stale());
  EXPECT_FALSE(found.none_reset());
  EXPECT_EQ(found.judged, 3u);  // the first pass follows no step
  EXPECT_EQ(found.leaves, 3u);
  EXPECT_EQ(found.stale, 2u);
  for (const BackwardPass& pass : found.passes) {
    ASSERT_EQ(pass.leaves.size(), 3u);
    EXPECT_FALSE(pass.leaves[0].stale);
    EXPECT_TRUE(pass.leaves[1].stale);
    EXPECT_TRUE(pass.leaves[2].stale);
  }
  ASSERT_NE(found.example, trace::kNoRow);
  EXPECT_EQ(replayed.trace().HostName(found.example), "teacher::linear");
}

TEST(StaleGradients, EveryOneOfThemMeansThatNothingResets) {
  const StaleGradients found = AddsBehind([](BackwardSteps&) {});
  EXPECT_TRUE(found.none_reset());
  EXPECT_EQ(found.stale, 2u);
  EXPECT_EQ(found.leaves, 2u);
}

// Nothing was there to add to.
TEST(StaleGradients, AProgramsFirstPassResetsNothing) {
  const StaleGradients found = Look([](BackwardSteps& steps, int step) {
    steps.Forward().Product();
    (step == 0 ? steps.Sets() : steps.Adds()).Optimizer();
  });
  EXPECT_TRUE(found.none_reset());
}

TEST(StaleGradients, OnePassIsNotEnough) {
  const auto stepped = [](int last) {
    return Look([&](BackwardSteps& steps, int step) {
             steps.Forward().Product().Adds();
             if (step <= last) steps.Optimizer();
           })
        .stale;
  };
  EXPECT_EQ(stepped(0), 0u);
  EXPECT_EQ(stepped(1), 1u);
}

// Of a long step one may be all that is replayed.
TEST(StaleGradients, AllSteadyStepsTell) {
  BackwardSteps steps(true);
  for (int s = 0; s < kTrainingSteps; ++s) {
    steps.Step(s).MuchWork(static_cast<int>(kMostWork) - 100).Forward().Forward();
    steps.Product().Sets().Product().Adds().Optimizer();
  }
  const Replayed replayed = steps.Finish();
  ASSERT_EQ(replayed.model().graph().steps, 1u);
  const StaleGradients found = LookAtStaleGradients(replayed.model());
  EXPECT_EQ(found.judged, 3u);
  EXPECT_EQ(found.stale, 1u);
  EXPECT_EQ(std::count_if(found.passes.begin(), found.passes.end(),
                          [](const BackwardPass& pass) { return pass.replayed; }),
            1);
  EXPECT_TRUE(FindUnusedGradients(replayed.model()));
}

TEST(StaleGradients, MicroBatchesAddToTheirOwnStep) {
  const StaleGradients found = Look([](BackwardSteps& steps, int) {
    steps.Forward().Product().Sets();
    for (int i = 0; i < 3; ++i) steps.Forward().Product().Adds();
    steps.Optimizer();
  });
  EXPECT_EQ(found.passes.size(), 16u);
  EXPECT_EQ(found.stale, 0u);
}

TEST(StaleGradients, AnOptimizerMayStepMoreRarely) {
  const StaleGradients found = Look([](BackwardSteps& steps, int step) {
    steps.Forward().Forward().Product().Sets().Product();
    (step % 2 == 0 ? steps.Sets() : steps.Adds()).Optimizer();
  });
  EXPECT_EQ(found.stale, 0u);
}

// A pass over four parameters does not speak for one over three.
TEST(StaleGradients, PassesOfOtherParametersAreApart) {
  const StaleGradients found = Look([](BackwardSteps& steps, int) {
    steps.Forward().Product().Sets().Adds().Adds().Optimizer();
    steps.Forward().Product().Sets().Sets().Sets().Adds().Optimizer();
  });
  EXPECT_EQ(found.judged, 3u);
  EXPECT_EQ(found.leaves, 3u);
  EXPECT_EQ(found.stale, 2u);
  EXPECT_TRUE(found.some_stale());
}

TEST(StaleGradients, ZeroedInPlaceSayNothing) {
  for (const char* zero : {"aten::zero_", "aten::fill_", "aten::_foreach_zero_"}) {
    const StaleGradients found = AddsBehind([&](BackwardSteps& steps) { steps.Op(zero); });
    EXPECT_TRUE(found.zeroed) << zero;
    EXPECT_FALSE(found.none_reset()) << zero;
    EXPECT_EQ(found.stale, 0u) << zero;
  }
  // What makes a tensor of zeros is no gradient.
  const StaleGradients found =
      AddsBehind([](BackwardSteps& steps) { steps.Op("aten::zeros", "aten::zero_"); });
  EXPECT_FALSE(found.zeroed);
  EXPECT_TRUE(found.none_reset());
}

// Between micro-batches, and behind the last of them, it is something else that is set to zero.
TEST(StaleGradients, OnlyZerosAboutThePassBehindAStepCount) {
  const StaleGradients found = Look([](BackwardSteps& steps, int) {
    steps.Forward().Product().Adds().Forward().Op("aten::zero_").Product().Adds();
    steps.Forward("metric").Op("aten::zero_").Optimizer();
  });
  EXPECT_FALSE(found.zeroed);
  EXPECT_TRUE(found.none_reset());
}

TEST(StaleGradients, NewZerosInTheirPlaceAreAboutAsMany) {
  const auto with = [](int zeros) {
    return Look([&](BackwardSteps& steps, int) {
      for (int i = 0; i < zeros; ++i) steps.Op("aten::zeros_like", "aten::zero_");
      steps.Forward().Product();
      for (int i = 0; i < 4; ++i) steps.Adds();
      steps.Optimizer();
    });
  };
  EXPECT_TRUE(with(4).zeroed);
  EXPECT_FALSE(with(1).zeroed);
  EXPECT_TRUE(with(1).none_reset());
}

// A loss of each task goes back by itself, and no operator stands between them.
TEST(StaleGradients, LossesThatGoBackOneAfterTheOtherHaveAPassEach) {
  const StaleGradients found = Look([](BackwardSteps& steps, int) {
    steps.Forward().Forward();
    steps.Op("aten::ones_like").Product().Sets().Product().Sets();
    steps.Op("aten::ones_like").Product().Adds().Product().Adds().Optimizer();
  });
  EXPECT_EQ(found.passes.size(), 8u);
  EXPECT_EQ(found.stale, 0u);
}

// Two optimizers step, and one of them resets its own.
TEST(StaleGradients, AnOptimizerMayBeForgotten) {
  const auto look = [](bool both) {
    return Look([&](BackwardSteps& steps, int) {
      steps.ZeroGrad();
      if (both) steps.ZeroGrad();
      steps.Forward().Forward().Product().Sets().Product().Adds().Optimizer().Optimizer();
    });
  };
  EXPECT_TRUE(look(false).half_reset());
  EXPECT_FALSE(look(true).half_reset());
  EXPECT_TRUE(look(true).some_stale());
}

// A critic learns in its own pass, and gets gradients in the other's.
TEST(StaleGradients, MayBeSetInAPassOfTheirOwn) {
  const StaleGradients found = Look([](BackwardSteps& steps, int) {
    steps.Forward().Product().Sets().Optimizer();
    steps.Forward().Forward().Product().Adds().Product().Sets().Optimizer();
  });
  EXPECT_TRUE(found.some_stale());
  EXPECT_TRUE(found.set_elsewhere);
  EXPECT_FALSE(found.half_reset());
  EXPECT_FALSE(Look([](BackwardSteps& steps, int) {
                 steps.Forward().Forward().Product().Adds().Product().Sets().Optimizer();
               }).set_elsewhere);
}

// Gradients times zero; a mean of the parameters is added to as well, and clipping comes before the
// step.
TEST(StaleGradients, MultipliedByZeroSayNothing) {
  EXPECT_TRUE(
      AddsBehind([](BackwardSteps& steps) { steps.Op("aten::mul_").Op("aten::mul_"); }).zeroed);
  EXPECT_TRUE(AddsBehind([](BackwardSteps& steps) { steps.Op("aten::_foreach_mul_"); }).zeroed);
  // What the forward pass adds is something else.
  EXPECT_TRUE(AddsBehind([](BackwardSteps& steps) {
                steps.Op("aten::mul_").Op("aten::mul_").Op("aten::add").Op("aten::add");
              }).zeroed);
  EXPECT_FALSE(AddsBehind([](BackwardSteps& steps) {
                 steps.Op("aten::mul_").Op("aten::add_").Op("aten::mul_").Op("aten::add_");
                 steps.Op("aten::_foreach_mul_").Op("aten::_foreach_add_");
               }).zeroed);
  EXPECT_FALSE(Look([](BackwardSteps& steps, int) {
                 steps.Forward().Forward().Product().Adds().Product().Adds();
                 steps.Op("aten::mul_").Op("aten::mul_").Optimizer();
               }).zeroed);
}

// An optimizer that steps and resets in a hook of each parameter adds too, to the parameter.
TEST(StaleGradients, WhatHooksAddIsNoGradient) {
  const auto hooked = [](const std::vector<const char*>& inside) {
    return Look([&](BackwardSteps& steps, int) {
      steps.Forward().Product().Leaf(inside).Leaf(inside).Optimizer();
    });
  };
  EXPECT_EQ(hooked({"", "aten::detach", "aten::add_"}).stale, 0u);
  EXPECT_EQ(hooked({"aten::detach", "aten::add_"}).stale, 0u);
  EXPECT_EQ(hooked({"aten::add_", "", "aten::detach"}).stale, 0u);  // noise, before it is taken
  EXPECT_EQ(hooked({"aten::mul", "", "aten::add_"}).stale, 2u);
}

TEST(StaleGradients, AddedOutOfPlaceAreAddedToo) {
  const StaleGradients found = Look([](BackwardSteps& steps, int) {
    steps.Forward().Product().Leaf({"", "aten::add"}).Optimizer();
  });
  EXPECT_TRUE(found.none_reset());
}

// A checkpointed block runs its forward pass, then its nodes, in a node of its own.
TEST(StaleGradients, ACheckpointedBlockIsPartOfItsPass) {
  const StaleGradients found = Look([](BackwardSteps& steps, int) {
    steps.Forward().Product().Sets().Open().Forward().Product().Adds().Product().Sets();
    steps.CloseNode("CheckpointFunctionBackward").Optimizer();
  });
  EXPECT_EQ(found.passes.size(), 4u);
  EXPECT_EQ(found.passes.front().nodes.size(), 6u);
  EXPECT_EQ(found.leaves, 3u);
  EXPECT_EQ(found.stale, 1u);
}

// step() with a closure holds the whole pass.
TEST(StaleGradients, AClosuresPassComesBeforeItsStep) {
  const StaleGradients found = Look([](BackwardSteps& steps, int) {
    steps.Open().Forward().Product().Sets().Adds().CloseOptimizer();
  });
  EXPECT_EQ(found.passes.size(), 4u);
  EXPECT_FALSE(found.passes.front().behind_step);
  EXPECT_TRUE(found.passes.back().behind_step);
  EXPECT_EQ(found.stale, 1u);
}

TEST(StaleGradients, TheBackwardPassMayHaveAThreadOfItsOwn) {
  const StaleGradients found =
      Look([](BackwardSteps& steps,
              int) { steps.Forward().Forward().Product().Sets().Product().Adds().Optimizer(); },
           true);
  EXPECT_EQ(found.passes.size(), 4u);
  EXPECT_EQ(found.stale, 1u);
  EXPECT_EQ(found.leaves, 2u);
}

// A head of 8 x 4 on a backbone of 8 x 8: all gradients are set anew, and one optimizer steps.
StaleGradients Sized(const std::vector<const char*>& optimizer, const char* backbone = "[[8, 8]]") {
  return Look([&](BackwardSteps& steps, int) {
    steps.Forward("backbone::linear").Forward("head::linear");
    steps.Product().SetsOf("[[8, 4]]").Product().SetsOf(backbone).OptimizerOver(optimizer);
  });
}

// Whoever resets everything by the model's zero_grad() hides what no optimizer reads.
TEST(StaleGradients, AreThoseOfSizesThatNoOptimizerGoesOver) {
  const StaleGradients found = Sized({"[[8, 4]]"});
  EXPECT_TRUE(found.by_sizes);
  EXPECT_TRUE(found.some_stale());
  EXPECT_FALSE(found.none_reset());
  EXPECT_EQ(found.leaves, 2u);
  EXPECT_EQ(found.stale, 1u);
  for (const BackwardPass& pass : found.passes) {
    ASSERT_EQ(pass.leaves.size(), 2u);
    EXPECT_FALSE(pass.leaves[0].stale);
    EXPECT_TRUE(pass.leaves[1].stale);
  }
}

TEST(StaleGradients, OfSizesThatAnOptimizerGoesOverAreUsed) {
  EXPECT_EQ(Sized({"[[8, 4]]", "[[8, 8]]"}).stale, 0u);
  // Which of two that are as large is used nobody knows.
  EXPECT_EQ(Sized({"[[8, 4]]"}, "[[8, 4]]").stale, 0u);
}

// Flat parameters and shards are of no parameter's size.
TEST(StaleGradients, AnOptimizerOfOtherTensorsTellsNothing) {
  EXPECT_EQ(Sized({"[[96]]"}).stale, 0u);
  EXPECT_EQ(Sized({"[[8, 4]]", "[[64]]"}).stale, 0u);
  EXPECT_EQ(Sized({}).stale, 0u);
}

}  // namespace
}  // namespace hone::replay
