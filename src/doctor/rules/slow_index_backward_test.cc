// SPDX-License-Identifier: Apache-2.0
// Who asked for gradients that are added up by index, in words.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "doctor/look_test.h"

namespace hone::doctor {
namespace {

using analyze::TraceSketch;

// Four steps of 3 ms; in each one kernel of `us`, under these operators, the outermost first. No
// recorder noted its grid.
Look Adds(const std::vector<const char*>& around, double us = 2'500) {
  TraceSketch sketch;
  for (int s = 0; s < 4; ++s) {
    const double at = 1000 + 3000 * s;
    sketch.Annotation("ProfilerStep#" + std::to_string(s + 1), at, at + 3000);
    double begin = at + 10, end = at + 60;
    for (const char* name : around) sketch.Op(name, begin++, end--);
    const std::int64_t correlation = 2 * s + 1;
    sketch.Launch(at + 30, correlation);
    sketch.Kernel(at + 50, at + 50 + us, correlation, 7, "indexing_backward_kernel<float, 4>");
    sketch.Call("cudaDeviceSynchronize", at + 100, at + 60 + us, correlation + 1);
  }
  return Look(std::move(sketch));
}

TEST(SlowIndexBackward, NamesTheOperatorThatDeterminismSentThere) {
  const Look look = Adds({"IndexSelectBackward0", "aten::index_select_backward", "aten::index_add_",
                          "aten::index_put_", "aten::_index_put_impl_"});
  const Finding* finding = look.Find("slow-index-backward");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->title,
            "made deterministic, aten::index_select_backward adds repeats one after another");
  EXPECT_TRUE(finding->remedy.starts_with("torch.use_deterministic_algorithms(False)"));
}

TEST(SlowIndexBackward, AnIndexPutOfTheProgramItselfIsNoBackwardPass) {
  const Look look = Adds({"aten::index_put_", "aten::_index_put_impl_"});
  const Finding* finding = look.Find("slow-index-backward");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->title, "index_put_ with accumulate adds repeats one after another");
  EXPECT_TRUE(finding->remedy.starts_with("out.index_add_(0, index, values)"));
}

TEST(SlowIndexBackward, ByNameAloneItIsOneOfSeveralExplanations) {
  const Look look = Adds({"autograd::engine::evaluate_function: IndexBackward0", "IndexBackward0",
                          "aten::_index_put_impl_"});
  const Finding* finding = look.Find("slow-index-backward");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->title, "the backward pass of x[index] adds repeats one after another");
  EXPECT_EQ(finding->confidence, Confidence::kLow);
  EXPECT_NEAR(*finding->recoverable_ns, 0.95 * 2.5e6, 1e5);
  EXPECT_EQ(Adds({"aten::_index_put_impl_"}, 900).Find("slow-index-backward"), nullptr);
}

}  // namespace
}  // namespace hone::doctor
