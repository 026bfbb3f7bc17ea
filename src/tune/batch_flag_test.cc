// SPDX-License-Identifier: Apache-2.0
#include "tune/batch_flag.h"

#include <gtest/gtest.h>

namespace hone::tune {
namespace {

using Words = std::vector<std::string>;

TEST(BatchFlag, ReadsTheLastValueInBothForms) {
  EXPECT_EQ(*BatchOf({"python", "t.py", "--batch", "8"}, "--batch"), 8);
  EXPECT_EQ(*BatchOf({"python", "t.py", "--batch", "8", "--batch=16"}, "--batch"), 16);
  EXPECT_FALSE(BatchOf({"python", "t.py", "--batch-x", "8"}, "--batch"));
  EXPECT_FALSE(BatchOf({"python", "t.py", "--batch"}, "--batch"));
  const Result<std::int64_t> wrong = BatchOf({"python", "t.py", "--batch", "auto"}, "--batch");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().message(), "--batch auto in the command is no batch size of 1 or more");
}

TEST(BatchFlag, ChangesOnlyTheValue) {
  const Words command{"python", "t.py", "-b=4", "--lr", "4"};
  const std::vector<Candidate> candidates = BatchCandidates(command, "-b");
  ASSERT_EQ(candidates.size(), 11u);
  EXPECT_EQ(WithBatch(command, "-b", {candidates[1].choice}),
            (Words{"python", "t.py", "-b=12", "--lr", "4"}));
  EXPECT_TRUE(candidates[1].between);
  EXPECT_EQ(WithBatch(command, "-b", {candidates[2].choice}),
            (Words{"python", "t.py", "-b=16", "--lr", "4"}));
  EXPECT_FALSE(candidates[2].between);
  EXPECT_EQ(WithBatch(command, "-b", {}), command);
  // The loader's own way to another batch is the program's affair.
  EXPECT_EQ(WithBatch(command, "-b", {{"batch-size", "{\"factor\": 2}"}}), command);
}

}  // namespace
}  // namespace hone::tune
