// SPDX-License-Identifier: Apache-2.0
// Products with TF32, against what an H200 took.
#include "replay/edits/product_gains.h"

#include <gtest/gtest.h>

#include "replay/edits/batch_steps_test.h"

namespace hone::replay {
namespace {

constexpr const char* kForward = "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x8_ffma";
constexpr const char* kInput = "void cutlass::Kernel2<cutlass_80_simt_sgemm_256x128_8x4_nn_align1>";
constexpr const char* kWeight =
    "void cutlass::Kernel2<cutlass_80_simt_sgemm_128x256_8x4_nt_align1>";

// Microseconds of a product that was recorded with `us`.
double WithTf32(const char* kernel, double us, const char* op, const char* dims) {
  const BatchKernel product{.name = kernel,
                            .ns = static_cast<Nanos>(us * 1e3),
                            .op = op,
                            .dims = dims,
                            .types = R"(["float", "float"])"};
  const Batched steps(std::move(BatchSteps().Steps({product})));
  ProductGains gains(steps.model(), MatrixFormat::Tf32(*steps.model().peaks()));
  return us / gains.Of(steps.model().graph().tasks[steps.Task(0)]);
}

TEST(Operands, AreToldByTheKernelsName) {
  EXPECT_EQ(OperandsOf(kForward), Operands::kInnerTogether);
  EXPECT_EQ(OperandsOf(kInput), Operands::kOneTogether);
  EXPECT_EQ(OperandsOf(kWeight), Operands::kInnerApart);
  EXPECT_EQ(OperandsOf("ampere_sgemm_32x128_tn"), Operands::kInnerTogether);
  EXPECT_EQ(OperandsOf("gemm_nnz_count_kernel"), Operands::kUnknown) << "a longer word";
  EXPECT_EQ(OperandsOf("_n"), Operands::kUnknown);
  EXPECT_EQ(OperandsOf(""), Operands::kUnknown);
}

// The three products of ALBERT's wide layer, 39 GFLOP each.
TEST(ProductGains, AWeightsGradientReachesLess) {
  EXPECT_NEAR(WithTf32(kForward, 784, "aten::mm", "[[8192, 768], [768, 3072]]"), 105, 0.1 * 105);
  EXPECT_NEAR(WithTf32(kInput, 855, "aten::mm", "[[8192, 3072], [3072, 768]]"), 118, 0.1 * 118);
  EXPECT_NEAR(WithTf32(kWeight, 779, "aten::mm", "[[3072, 8192], [8192, 768]]"), 187, 0.1 * 187);
}

// A layer of experts is batched as attention is, and no product of heads.
TEST(ProductGains, LayersOfExpertsAreLayers) {
  EXPECT_NEAR(WithTf32(kInput, 796, "aten::bmm", "[[8, 1280, 768], [8, 768, 2304]]"), 114, 12);
  EXPECT_GT(WithTf32(kInput, 163, "aten::bmm", "[[192, 512, 512], [192, 512, 64]]"), 50);
}

// Without shapes what lies beside a softmax is attention.
TEST(ProductGains, WithoutShapesASoftmaxTells) {
  EXPECT_NEAR(WithTf32(kInput, 796, "aten::bmm", nullptr), 114, 15);
}

}  // namespace
}  // namespace hone::replay
