// SPDX-License-Identifier: Apache-2.0
#include "tune/search.h"

#include "tune/simulated_test.h"

namespace hone::tune {
namespace {

using Fate = Row::Fate;

TEST(Search, FindsTheBestRecipeAndProvesIt) {
  Simulated program(1);
  program.Add("workers", 1.5);
  program.Add("bf16", 1.8, Risk::kNumeric);
  program.Add("nothing", 1.0);
  program.Add("harm", 0.8);
  Silent listener;
  SearchOptions options;
  options.predicted = {{"slow-kernels", 1.7}};
  program.Add("fused", 1.1).cures = {"slow-kernels"};
  const TuneResult result = Searched(program, options, listener);
  EXPECT_EQ(Names(result.winner), (std::set<std::string>{"workers", "bf16", "fused"}));
  EXPECT_EQ(result.winner[0].treatment, "fused") << "predicted best, tried first";
  EXPECT_TRUE(result.proven) << result.proof;
  EXPECT_NEAR(result.confirmation->comparisons[0].judgement.ratio, 2.97, 0.15);
  EXPECT_EQ(RowOf(result, "nothing").fate, Fate::kNoGain);
  EXPECT_EQ(RowOf(result, "harm").fate, Fate::kSlower);
  EXPECT_NEAR(*RowOf(result, "bf16").alone, 1.8, 0.1);
  EXPECT_NEAR(*RowOf(result, "bf16").without, 1.8, 0.1);
  EXPECT_NEAR(*RowOf(result, "bf16").cumulative_rate / result.baseline_rate,
              *RowOf(result, "bf16").cumulative, 1e-9);
  EXPECT_EQ(RowOf(result, "fused").predicted_by, "slow-kernels");
  EXPECT_EQ(RowOf(result, "workers").predicted_by, "usual");
  EXPECT_EQ(result.rows[0].candidate.choice.treatment, "fused") << "adopted ones come first";
  EXPECT_EQ(listener.decisions.size(), program.ran.size() + 1) << "every trial is decided once";
}

TEST(Search, TriesAgainWhatWasUselessBefore) {
  // The loader is hidden behind the device until the device is fast.
  Simulated program(2);
  program.Add("workers", 1.0).prior = 3;
  program.Add("bf16", 2.0, Risk::kNumeric);
  program.interaction = [](const std::set<std::string>& names) {
    return names.contains("workers") && names.contains("bf16") ? 1.4 : 1.0;
  };
  const TuneResult result = Searched(program);
  EXPECT_EQ(Names(result.winner), (std::set<std::string>{"workers", "bf16"}));
  EXPECT_NEAR(*RowOf(result, "workers").alone, 1.0, 0.05);
  EXPECT_NEAR(*RowOf(result, "workers").without, 1.4, 0.1);
}

TEST(Search, DropsWhatTheRestMadeUseless) {
  Simulated program(3);
  program.Add("fused", 1.2).prior = 2;
  program.Add("compile", 1.8, Risk::kNumeric);
  program.interaction = [](const std::set<std::string>& names) {
    return names.contains("fused") && names.contains("compile") ? 1 / 1.2 * 1.0 : 1.0;
  };
  program.factors["compile"] = 1.8;
  const TuneResult result = Searched(program);
  EXPECT_EQ(Names(result.winner), (std::set<std::string>{"compile"}));
  EXPECT_EQ(RowOf(result, "fused").fate, Fate::kSuperseded);
}

TEST(Search, OfAGroupOneStandsAndTheFirstSlowerOneEndsIt) {
  Simulated program(4);
  for (const auto& [name, factor] :
       std::map<std::string, double>{{"w1", 1.3}, {"w2", 1.7}, {"w3", 1.5}, {"w4", 3.0}}) {
    program.Add(name, factor).group = "workers";
  }
  const TuneResult result = Searched(program);
  EXPECT_EQ(Names(result.winner), (std::set<std::string>{"w2"}));
  EXPECT_EQ(RowOf(result, "w1").fate, Fate::kSuperseded);
  EXPECT_EQ(RowOf(result, "w4").fate, Fate::kSuperseded);
  EXPECT_EQ(program.CountRuns(KeyOf({{"w4", "{}"}})), 0U) << "w3 was slower than w2";
  for (const TrialOrder& order : program.ran) EXPECT_LE(order.recipe.size(), 1U);
}

TEST(Search, AFailureOfAGroupGoesOnWithTheNext) {
  Simulated program(5);
  program.Add("c1", 2).group = "compile";
  program.Add("c2", 2).group = "compile";
  program.Add("c3", 1.6).group = "compile";
  program.failures["c1"] = Ending::kOutOfMemory;
  program.inert = {"c2"};
  const TuneResult result = Searched(program);
  EXPECT_EQ(Names(result.winner), (std::set<std::string>{"c3"}));
  EXPECT_EQ(RowOf(result, "c1").fate, Fate::kFailed);
  EXPECT_EQ(RowOf(result, "c1").why, "out of memory: planted");
  EXPECT_EQ(RowOf(result, "c2").fate, Fate::kNoEffect);
}

TEST(Search, MemoryWithoutMarginAndOtherTrainingsAreNotAdopted) {
  Simulated program(6);
  program.Add("tight", 2);
  program.shares["tight"] = 0.97;
  program.Add("batch", 3, Risk::kOptimization);
  TuneResult result = Searched(program);
  EXPECT_TRUE(result.winner.empty());
  EXPECT_TRUE(result.proof.empty());
  EXPECT_EQ(RowOf(result, "tight").fate, Fate::kRejected);
  EXPECT_EQ(RowOf(result, "batch").fate, Fate::kReported);
  EXPECT_NEAR(*RowOf(result, "batch").on_top, 3, 0.2);
  SearchOptions options;
  options.allow_optimization = true;
  Simulated allowed(6);
  allowed.Add("batch", 3, Risk::kOptimization);
  EXPECT_EQ(Names(Searched(allowed, options).winner), (std::set<std::string>{"batch"}));
}

TEST(Search, WithoutALossWhatRoundsIsReportedOnly) {
  Simulated program(7);
  program.learns = false;
  program.Add("bf16", 2, Risk::kNumeric);
  program.Add("workers", 1.5);
  TuneResult result = Searched(program);
  EXPECT_EQ(Names(result.winner), (std::set<std::string>{"workers"}));
  EXPECT_EQ(RowOf(result, "bf16").fate, Fate::kReported);
  EXPECT_FALSE(RowOf(result, "bf16").guard.checked);
  SearchOptions options;
  options.allow_unchecked = true;
  EXPECT_EQ(Searched(program, options).winner.size(), 0U) << "the clock stands at the budget";
}

TEST(Search, OnlyAndSkipNameTreatments) {
  Simulated program(10);
  program.Add("a", 1.5);
  program.Add("b", 1.5);
  program.Add("c", 1.5);
  SearchOptions options;
  options.only = {"a", "b"};
  options.skip = {"b"};
  const TuneResult result = Searched(program, options);
  EXPECT_EQ(Names(result.winner), (std::set<std::string>{"a"}));
  EXPECT_EQ(RowOf(result, "b").why, "left out by --skip");
  EXPECT_EQ(result.rows.size(), 2u);  // nobody asked for c
}

TEST(Search, TheConfirmationHasTheLastWord) {
  Simulated program(12);
  program.Add("bf16", 1.5, Risk::kNumeric);
  program.confirm_factor = 1 / 1.5;  // was luck
  const TuneResult result = Searched(program);
  EXPECT_FALSE(result.proven);
  EXPECT_TRUE(result.proof.starts_with("not proven: ")) << result.proof;
}

TEST(Search, AProgramThatFailsIsOneSentence) {
  class Failing : public Simulated {
   public:
    using Simulated::Simulated;
    Result<Trial> Run(const TrialOrder& order, const std::string& purpose) override {
      Result<Trial> trial = Simulated::Run(order, purpose);
      trial->ending = ending;
      trial->rate.reset();
      trial->error_type = "ValueError";
      trial->error = "no such file (train.py:3)";
      return trial;
    }
    Ending ending = Ending::kError;
  };
  Failing program(13);
  Silent listener;
  const Result<TuneResult> result = Search({}, program, listener);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message(),
            "the program as it is fails (error): ValueError: no such file (train.py:3); all it "
            "printed: trial-1/output.txt; make it run first");
  program.ending = Ending::kNoSteps;
  EXPECT_TRUE(Search({}, program, listener)
                  .error()
                  .message()
                  .starts_with("the program cannot be measured by its steps: "));
}

TEST(Search, CtrlCKeepsWhatWasFound) {
  Simulated program(14);
  program.Add("a", 1.5);
  program.Add("b", 1.5);
  program.stop_after = 6;
  const TuneResult result = Searched(program);
  EXPECT_EQ(result.ended, "stopped by Ctrl-C");
  EXPECT_EQ(Names(result.winner), (std::set<std::string>{"a"}));
  EXPECT_FALSE(result.proven);
  EXPECT_EQ(RowOf(result, "b").why, "not tried: the search ended before");
}

TEST(Search, AWildMachineIsNamed) {
  for (const double noise : {0.02, 0.3}) {
    Simulated program(16);
    program.noise = noise;
    program.Add("t", 1.0);
    const TuneResult result = Searched(program);
    const bool named = !result.notes.empty() && result.notes.back().starts_with("runs of the same");
    EXPECT_EQ(named, noise > 0.1);
  }
}

}  // namespace
}  // namespace hone::tune
