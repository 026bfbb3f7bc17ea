// SPDX-License-Identifier: Apache-2.0
// What the doctor found and what the replay says of it: what is tried, and in which order.
#include "tune/search.h"
#include "tune/simulated_test.h"

namespace hone::tune {
namespace {

using Fate = Row::Fate;

TEST(Search, AComputeBoundJobDoesNotTryTheLoader) {
  Simulated program(8);
  Candidate& loader = program.Add("workers", 1.0);
  loader.cures = {"input-bound"};
  loader.prior = 4;
  program.Add("bf16", 2, Risk::kNumeric);
  program.wait_share = [](const Recipe&) { return 0.004; };
  TuneResult result = Searched(program);
  for (const TrialOrder& order : program.ran) EXPECT_FALSE(Names(order.recipe).contains("workers"));
  EXPECT_EQ(RowOf(result, "workers").fate, Fate::kNotTried);
  // Once the device is fast the program waits, and the loader gets its trial.
  Simulated exposed(8);
  exposed.Add("workers", 1.5).cures = {"input-bound"};
  exposed.Add("bf16", 2, Risk::kNumeric);
  exposed.wait_share = [](const Recipe& recipe) { return recipe.empty() ? 0.004 : 0.4; };
  EXPECT_EQ(Searched(exposed).winner.size(), 2U);
}

TEST(Search, TheDoctorsFindingsComeFirstAndWhatItDidNotFindLast) {
  Simulated program(9);
  Candidate& loader = program.Add("workers", 1.0);
  loader.cures = {"input-bound"};
  loader.prior = 5;
  program.Add("pin", 1.0).prior = 1.0;
  program.Add("fused", 1.0).cures = {"unfused-optimizer"};
  program.Add("bf16", 1.0).prior = 1.5;
  SearchOptions options;
  options.diagnosed = true;
  options.predicted = {{"unfused-optimizer", 1.9}};
  const TuneResult result = Searched(program, options);
  std::vector<std::string> order;
  for (const Trial& one : result.trials) {
    if (one.purpose == "forward") order.push_back(one.order.recipe.back().treatment);
  }
  EXPECT_EQ(order, (std::vector<std::string>{"fused", "bf16", "workers", "pin"}));
}

// The replay has every batch ready; two workers have not.
TEST(Search, APredictionIsNoMoreThanTheTreatmentCanGive) {
  Simulated program(12);
  Candidate& two = program.Add("workers", 1.9, Risk::kExact, "{\"n\":2}");
  two.cures = {"input-bound"};
  two.at_most = 2;
  SearchOptions options;
  options.predicted = {{"input-bound", 11.9}};
  const TuneResult result = Searched(program, options);
  EXPECT_NEAR(*RowOf(result, "workers").predicted, 2, 1e-9);
  EXPECT_EQ(RowOf(result, "workers").predicted_by, "input-bound");
}

// What is left to gain is asked of the replay, with what stands cured already.
TEST(Search, APredictionIsOnTopOfWhatStands) {
  Simulated program(14);
  program.Add("tf32", 2, Risk::kNumeric).cures = {"no-tensor-cores"};
  program.Add("sdpa", 1.2, Risk::kNumeric).cures = {"naive-attention"};
  program.Add("bf16", 1.1, Risk::kNumeric).cures = {"no-tensor-cores"};
  Candidate& compile = program.Add("compile", 1.5, Risk::kNumeric);
  compile.cures = {"launch-bound", "unfused-elementwise"};
  compile.cures_all = true;
  SearchOptions options;
  options.diagnosed = true;
  options.predicted = {{"no-tensor-cores", 2},
                       {"naive-attention", 1.1},
                       {"launch-bound", 1.01},
                       {"unfused-elementwise", 1.08}};
  // Of 100 ms: 60 go to matrix products, which take 10 then; the others to themselves.
  options.predict = [](const std::set<std::string>& rules) {
    double ms = 100;
    if (rules.contains("no-tensor-cores")) ms -= 50;
    if (rules.contains("naive-attention")) ms -= 9;
    if (rules.contains("launch-bound")) ms -= 1;
    if (rules.contains("unfused-elementwise")) ms -= 7;
    return 100 / ms;
  };
  const TuneResult result = Searched(program, options);
  EXPECT_DOUBLE_EQ(*RowOf(result, "tf32").predicted, 2);
  EXPECT_DOUBLE_EQ(*RowOf(result, "sdpa").predicted, 50.0 / 41);
  EXPECT_DOUBLE_EQ(*RowOf(result, "compile").predicted, 41.0 / 33) << "both that it cures";
  EXPECT_EQ(RowOf(result, "compile").predicted_by, "launch-bound, unfused-elementwise");
  EXPECT_EQ(RowOf(result, "bf16").predicted_by, "usual") << "its rule is cured already";
  EXPECT_DOUBLE_EQ(*result.predicted, 100.0 / 33);
}

// A change that no rule asks for has a word of its own in the replay: what it adds to TF32 is told.
TEST(Search, ATreatmentIsPredictedByItsOwnWordBeforeTheRuleItCures) {
  Simulated program(15);
  program.Add("tf32", 2, Risk::kNumeric).cures = {"no-tensor-cores"};
  program.Add("bf16", 1.25, Risk::kNumeric).cures = {"bf16-autocast", "no-tensor-cores"};
  SearchOptions options;
  options.diagnosed = true;
  options.predicted = {{"no-tensor-cores", 2}, {"bf16-autocast", 1.9}};
  options.predict = [](const std::set<std::string>& rules) {
    return rules.contains("bf16-autocast") ? (rules.size() > 1 ? 2.5 : 1.9) : 2.0;
  };
  const TuneResult result = Searched(program, options);
  EXPECT_DOUBLE_EQ(*RowOf(result, "tf32").predicted, 2);
  EXPECT_DOUBLE_EQ(*RowOf(result, "bf16").predicted, 1.25) << "on top of TF32";
  EXPECT_EQ(RowOf(result, "bf16").predicted_by, "bf16-autocast");
  EXPECT_DOUBLE_EQ(*result.predicted, 2.5);
}

}  // namespace
}  // namespace hone::tune
