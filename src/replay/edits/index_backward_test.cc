// SPDX-License-Identifier: Apache-2.0
#include "replay/edits/index_backward.h"

#include <gtest/gtest.h>

#include "replay/edits/batch_steps_test.h"
#include "replay/edits/edits.h"

namespace hone::replay {
namespace {

using Way = IndexBackward::Way;

constexpr const char* kRows = "void (anonymous namespace)::indexing_backward_kernel<float, 4>";
constexpr const char* kHalfRows =
    "void (anonymous namespace)::indexing_backward_kernel<c10::BFloat16, 4>";
constexpr const char* kValues =
    "void (anonymous namespace)::indexing_backward_kernel_stride_1<float>";

// 131,072 indices, four a block; 128 columns of float, 67 MB, take 15.6 us at 4,300 GB/s.
BatchKernel Adds(const char* name = kRows, Nanos ns = 5 * kMillisecond,
                 std::uint32_t blocks = 32'768) {
  return {.name = name,
          .blocks = blocks,
          .ns = ns,
          .op = "aten::_index_put_impl_",
          .backward = true,
          .threads = 32};
}

class Looked {
 public:
  explicit Looked(const BatchKernel& kernel)
      : steps_(std::move(BatchSteps().Steps({{}, kernel}))),
        found_(LookAtIndexBackward(steps_.model())) {}

  const IndexBackward& found() const { return found_; }
  std::size_t calls() const { return found_.calls.size(); }
  // In microseconds.
  double Left(Guess guess = Guess::kLikely) const {
    const FoundEdit edit = FindSlowIndexBackward(steps_.model());
    EXPECT_EQ(edit.has_value(), !found_.calls.empty());
    Plan plan(steps_.model().graph());
    if (edit) (*edit)->Apply(steps_.model(), guess, plan);
    EXPECT_EQ(plan.duration_ns[steps_.Task(0)], 100'000);  // the product beside it
    return static_cast<double>(plan.duration_ns[steps_.Task(1)]) / 1e3;
  }

 private:
  const Batched steps_;
  const IndexBackward found_;
};

TEST(IndexBackward, RowsTakeWhatTheBackwardPassOfAnEmbeddingTakes) {
  const Looked rows(Adds());
  ASSERT_EQ(rows.calls(), 4U);
  EXPECT_EQ(rows.found().calls[0].way, Way::kEmbedding);
  EXPECT_NEAR(rows.found().calls[0].gradient_bytes, 67.1e6, 0.1e6);
  EXPECT_NEAR(rows.Left(), 60 + 52.4 + 4 * 15.6, 1);
  EXPECT_NEAR(rows.Left(Guess::kMost), 87.4, 1);
  EXPECT_NEAR(rows.Left(Guess::kLeast), 437, 2);
  // Ten repeats at a time, one after another.
  EXPECT_NEAR(Looked(Adds(kRows, 9 * kMillisecond)).Left(Guess::kLeast), 630, 1);
}

TEST(IndexBackward, ElementsOfTwoBytesAreHalfTheGradient) {
  EXPECT_NEAR(Looked(Adds(kHalfRows)).Left(), 60 + 52.4 + 4 * 7.8, 1);
}

// 400,000 rows out of 60,000, as a graph network gathers them: its bytes take as long.
TEST(IndexBackward, FewRepeatsAreNotSlow) {
  EXPECT_EQ(Looked(Adds(kRows, 126'000, 100'000)).calls(), 0U);
}

TEST(IndexBackward, ShortKernelsAreLatencyAlone) {
  EXPECT_EQ(Looked(Adds(kRows, 99'000, 8)).calls(), 0U);
  // Longer than its bytes, and no longer than twice the parts of the other way.
  EXPECT_EQ(Looked(Adds(kRows, 118'000, 8)).calls(), 0U);
  EXPECT_EQ(Looked(Adds(kRows, 125'000, 8)).calls(), 4U);
}

// 15.6 us for its bytes 7.6 times, and a fiftieth of what waiting for each repeat took.
TEST(IndexBackward, WhatDeterminismSendsHereIsAddedByAtomics) {
  BatchKernel kernel = Adds();
  kernel.inside = "aten::index_add_";
  const Looked sent(kernel);
  ASSERT_EQ(sent.calls(), 4U);
  EXPECT_EQ(sent.found().calls[0].way, Way::kNotDeterministic);
  EXPECT_NE(sent.found().asked, trace::kNoRow);
  EXPECT_NEAR(sent.Left(), 10 + 118.6 + 100, 1);
}

TEST(IndexBackward, SingleValuesAreAddedByAtomics) {
  const Looked values(Adds(kValues));
  ASSERT_EQ(values.calls(), 4U);
  EXPECT_EQ(values.found().calls[0].way, Way::kAtomics);
  EXPECT_NEAR(values.Left(), 10 + 0.9 + 100, 1);
}

TEST(IndexBackward, WithoutAGridOnlyWhatIsLongAnyway) {
  const Looked known(Adds(kRows, 5 * kMillisecond, 0));
  ASSERT_EQ(known.calls(), 4U);
  EXPECT_EQ(known.found().calls[0].gradient_bytes, 0);
  EXPECT_NEAR(known.Left(), 250, 1);
  EXPECT_NEAR(known.Left(Guess::kLeast), 1500, 1);
  const Looked unknown(Adds(kRows, 900'000, 0));
  EXPECT_EQ(unknown.calls(), 0U);
  EXPECT_NEAR(unknown.found().unmeasured_ns, 3.6e6, 1);
}

TEST(IndexBackward, WavefrontsOf64TakeMoreIndicesABlock) {
  BatchKernel kernel = Adds();
  kernel.threads = 64;
  EXPECT_EQ(Looked(kernel).calls(), 0U);
}

TEST(IndexBackward, OtherKernelsStay) {
  EXPECT_EQ(Looked(Adds("void indexing_backward_kernel_quantized<signed char, 4>")).calls(), 0U);
  EXPECT_EQ(Looked(Adds("void compute_grad_weight_atomic_accumulate<float, float, long>")).calls(),
            0U);
}

}  // namespace
}  // namespace hone::replay
