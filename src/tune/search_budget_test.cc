// SPDX-License-Identifier: Apache-2.0
// What a search begins with the time it has left, and what it keeps for the proof.
#include "tune/search.h"
#include "tune/simulated_test.h"

namespace hone::tune {
namespace {

TEST(Search, NeverStartsWhatCannotEndInTime) {
  for (const double budget : {60.0, 120.0, 200.0, 300.0, 1500.0}) {
    Simulated program(11);
    for (int i = 0; i < 12; ++i) program.Add("t" + std::to_string(i), 1.1);
    SearchOptions options;
    options.budget_s = budget;
    const TuneResult result = Searched(program, options);
    EXPECT_LE(program.clock, budget) << "seconds of a budget of " << budget;
    EXPECT_EQ(result.ended.empty() && result.notes.empty(), budget > 1400)
        << budget << ": " << result.ended << (result.notes.empty() ? "" : result.notes[0]);
    EXPECT_EQ(result.confirmation.has_value(), budget > 60) << budget << result.proof;
  }
}

// What is kept for the proof is not spent, and the sentence says what would be enough.
TEST(Search, ABudgetThatHoldsNoProofSaysSo) {
  Simulated program(15);
  program.Add("t", 1.5);
  SearchOptions options;
  options.budget_s = 60;
  const TuneResult result = Searched(program, options);
  EXPECT_TRUE(result.winner.empty());
  EXPECT_TRUE(result.ended.starts_with("of the budget of 60.0 s, ")) << result.ended;
  EXPECT_NEAR(result.needed_s, program.clock + 10 + 3 * 20 * 1.1, 1);
}

// Of two runs one was looked into: what lies between them is no sign of a busy machine.
TEST(Search, TwoRunsThatDifferAreNotBlamedOnTheMachineAlone) {
  int named = 0;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    Simulated program(seed);
    program.noise = 0.3;
    program.Add("t", 1.5);
    SearchOptions options;
    options.budget_s = 60;
    const TuneResult result = Searched(program, options);
    ASSERT_EQ(result.trials.size(), 2U);
    for (const std::string& note : result.notes) {
      EXPECT_FALSE(note.starts_with("runs of the same recipe")) << note;
      named += note.starts_with("both runs of the program as it is differ by ") ? 1 : 0;
    }
  }
  EXPECT_GE(named, 1) << "two runs seldom lie far enough apart";
}

// A transformer as a script has it, in the times that were measured on an H200: half precision
// gives next to nothing before attention is fused, and what compiles for a minute makes all that
// follows as long.
struct Transformer : Simulated {
  explicit Transformer(std::uint64_t seed) : Simulated(seed) {
    rate = 40;
    wall_s = 15;
    clock = 25;  // the recording
    steps_take_time = true;
    noise = 0.003;
    Add("tf32", 2.1, Risk::kNumeric).cures = {"no-tensor-cores"};
    Add("bf16", 1.02, Risk::kNumeric).cures = {"no-tensor-cores"};
    Candidate& compile = Add("compile", 1.4, Risk::kNumeric);
    compile.cures = {"unfused-elementwise"};
    compile.extra_s = 30;
    extra_s["compile"] = 50;
    Add("sdpa", 1.25, Risk::kNumeric).cures = {"naive-attention"};
    Add("fused", 1.05, Risk::kNumeric).cures = {"unfused-optimizer"};
    Add("allocator", 1).cures = {"allocator-churn"};
    interaction = [](const std::set<std::string>& on) {
      return on.contains("bf16") && on.contains("sdpa") ? 1.6 : 1;
    };
    options.diagnosed = true;
    options.predicted = {{"no-tensor-cores", 2.1},
                         {"unfused-elementwise", 1.17},
                         {"naive-attention", 1.06},
                         {"unfused-optimizer", 1.03}};
  }
  SearchOptions options;
};

TEST(Search, WhatCompilesComesAfterAllThatIsCheapAndIsStillProven) {
  for (double budget = 460; budget < 800; budget += 20) {
    Transformer program(static_cast<std::uint64_t>(budget));
    program.options.budget_s = budget;
    const TuneResult result = Searched(program, program.options);
    const std::set<std::string> names = Names(result.winner);
    for (const char* name : {"tf32", "sdpa", "bf16", "compile"}) {
      EXPECT_TRUE(names.contains(name)) << name << " within " << budget << " s";
    }
    EXPECT_TRUE(result.proven) << budget << " s: " << result.proof;
    EXPECT_LE(program.clock, budget);
  }
}

// What a compiled recipe takes is known when it ran: it is not begun where no proof would follow.
TEST(Search, WhatCouldNotBeProvenIsNotBegun) {
  Transformer program(3);
  program.options.budget_s = 400;
  program.extra_s["compile"] = 30;  // as it says
  const TuneResult result = Searched(program, program.options);
  EXPECT_FALSE(Names(result.winner).contains("compile"));
  EXPECT_TRUE(result.proven) << result.proof;
  EXPECT_EQ(RowOf(result, "compile").why, "not tried: the budget was spent");
}

}  // namespace
}  // namespace hone::tune
