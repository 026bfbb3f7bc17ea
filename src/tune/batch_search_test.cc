// SPDX-License-Identifier: Apache-2.0
#include "tune/batch_search.h"

#include "tune/simulated_test.h"

namespace hone::tune {
namespace {

struct Batch : Simulated {
  explicit Batch(std::vector<double> rates) : Simulated(20) {
    for (std::size_t i = 0; i < rates.size(); ++i) {
      Add("batch-size", rates[i], Risk::kOptimization,
          "{\"factor\":" + std::to_string(2 << i) + "}");
    }
  }
  Result<TuneResult> Searched() {
    Silent listener;
    return SearchBatch({}, "batch-size", *this, listener);
  }
};

TEST(BatchSearch, GrowsWhileThatHelpsAndNoFurther) {
  Batch program({1.6, 2.2, 2.21, 9});
  const Result<TuneResult> result = program.Searched();
  ASSERT_TRUE(result);
  ASSERT_EQ(result->batches.size(), 4U) << "the program as it is and three more";
  EXPECT_EQ(result->best_batch, 2U);
  EXPECT_NEAR(*result->batches[2].rate, 220, 9);
  EXPECT_TRUE(result->winner.empty());
}

TEST(BatchSearch, EndsWhereMemoryDoesAndKeepsAMargin) {
  Batch program({1.6, 2.2, 3});
  program.shares["batch-size{\"factor\":4}"] = 0.97;
  Result<TuneResult> result = program.Searched();
  EXPECT_EQ(result->best_batch, 1U);
  ASSERT_EQ(result->batches.size(), 3U);
  EXPECT_FALSE(result->batches[2].within_margin);
  EXPECT_TRUE(result->batches[2].rate);
  Batch full({1.6, 2.2, 3});
  full.failures["batch-size{\"factor\":8}"] = Ending::kOutOfMemory;
  result = full.Searched();
  EXPECT_EQ(result->best_batch, 2U);
  EXPECT_EQ(result->batches[3].ending, Ending::kOutOfMemory);
  EXPECT_EQ(result->batches[3].why, "out of memory: planted");
}

// Half-way between what fits and what does not, and nowhere else.
TEST(BatchSearch, LooksBetweenWhereMemoryEnds) {
  for (const bool fits : {true, false}) {
    Simulated program(21);
    for (const int factor : {2, 3, 4, 6, 8}) {
      program
          .Add("batch-size", 1 + factor / 4.0, Risk::kOptimization,
               "{\"factor\":" + std::to_string(factor) + "}")
          .between = factor == 3 || factor == 6;
    }
    program.failures["batch-size{\"factor\":8}"] = Ending::kOutOfMemory;
    if (!fits) program.shares["batch-size{\"factor\":6}"] = 0.97;
    Silent listener;
    const Result<TuneResult> result = SearchBatch({}, "batch-size", program, listener);
    ASSERT_TRUE(result);
    std::vector<std::string> tried;
    for (const BatchRow& row : result->batches) {
      tried.push_back(row.candidate ? row.candidate->choice.options : "");
    }
    EXPECT_EQ(tried, (std::vector<std::string>{"", "{\"factor\":2}", "{\"factor\":4}",
                                               "{\"factor\":8}", "{\"factor\":6}"}));
    EXPECT_EQ(*result->best_batch, fits ? 4U : 2U);
    EXPECT_EQ(result->batches[4].within_margin, fits);
  }
  // The search over all treatments does not see it.
  Simulated program(22);
  program.Add("batch-size", 1.5, Risk::kOptimization).between = true;
  EXPECT_TRUE(Searched(program).rows.empty());
}

TEST(BatchSearch, SaysWhyItCannot) {
  Batch program({});
  const Result<TuneResult> result = program.Searched();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message(), "batch-size cannot be tried here: the program offers no way");
}

}  // namespace
}  // namespace hone::tune
