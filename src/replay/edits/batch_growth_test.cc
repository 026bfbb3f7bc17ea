// SPDX-License-Identifier: Apache-2.0
#include "replay/edits/batch_growth.h"

#include "replay/edits/batch_steps_test.h"

namespace hone::replay {
namespace {

// Times as long of the first kernel, with `times` the samples.
double Growth(const BatchKernel& kernel, double times, Guess guess = Guess::kLikely) {
  const Batched batched(std::move(BatchSteps().Steps({kernel})));
  return BatchGrowth(batched.model()).Of(batched.Task(0), guess, times);
}

BatchRole RoleOf(const std::vector<BatchKernel>& kernels) {
  const Batched batched(std::move(BatchSteps().Steps(kernels)));
  return ReadBatchWork(batched.model())[batched.Task(0)].role;
}

// Eight blocks on 132 multiprocessors.
TEST(BatchGrowth, ADeviceWithRoomTakesMoreSamplesInTheSameTime) {
  const BatchKernel small{.blocks = 8};
  EXPECT_LT(Growth(small, 4), 1.02);
  EXPECT_LT(Growth(small, 16), 1.5);
  EXPECT_GT(Growth(small, 64), 2);
}

TEST(BatchGrowth, AFullDeviceDoesEverythingInTurn) {
  EXPECT_NEAR(Growth({.blocks = 264}, 4), 4, 0.1);
  EXPECT_NEAR(Growth({.blocks = 132}, 4), 4, 0.1);
}

// Blocks of a product keep a multiprocessor busy, those of other kernels share it: eight of 256
// threads each.
TEST(BatchGrowth, OtherKernelsFillADeviceOnlyWithAllItsPlaces) {
  const BatchKernel half{.name = kAdd, .blocks = 132 * 4, .op = "aten::add"};
  EXPECT_LT(Growth(half, 2), 1.3);
  EXPECT_NEAR(Growth({.name = kAdd, .blocks = 132 * 8, .op = "aten::add"}, 2), 2, 0.05);
}

TEST(BatchGrowth, AShortKernelIsMostlyLatency) {
  const BatchKernel full{.name = kAdd, .blocks = 132 * 8, .ns = 1'500, .op = "aten::add"};
  EXPECT_LT(Growth(full, 2), 1.5);
  EXPECT_GT(Growth(full, 2), 1.1);
}

TEST(BatchGrowth, TheRangeHoldsWhatIsLikely) {
  for (const std::uint32_t blocks : {4U, 40U, 100U, 200U}) {
    for (const double times : {2.0, 16.0}) {
      const double likely = Growth({.blocks = blocks}, times);
      EXPECT_LE(Growth({.blocks = blocks}, times, Guess::kMost), likely);
      EXPECT_GE(Growth({.blocks = blocks}, times, Guess::kLeast), likely);
      EXPECT_LE(Growth({.blocks = blocks}, times, Guess::kLeast), times);
    }
  }
  EXPECT_GT(Growth({.blocks = 40}, 2, Guess::kLeast), 1.1 * Growth({.blocks = 40}, 2));
  EXPECT_LT(Growth({.blocks = 40}, 16, Guess::kMost), 0.9 * Growth({.blocks = 40}, 16));
}

// One row through a layer of 8,192: 134 MB of weights in 30 us, whatever the number of rows. The
// grid is full.
TEST(BatchGrowth, AWeightIsReadOnceForAllSamples) {
  const BatchKernel one{.blocks = 1024, .ns = 30'000, .dims = "[[1, 8192], [8192, 8192]]"};
  EXPECT_LT(Growth(one, 16), 1.1);
  EXPECT_GT(Growth({.blocks = 1024, .ns = 30'000}, 16), 10);  // shapes told that
}

// 128 time steps of four sequences, each of which reads 33 MB of weights: 8 us of the 10.
TEST(BatchGrowth, ARecurrentLayerTakesItsStepsInTurn) {
  const BatchKernel layer{.blocks = 256,
                          .ns = 1'300'000,
                          .op = "aten::_cudnn_rnn",
                          .dims = "[[128, 4, 1024], [[4096, 1024], [4096, 1024], [4096]]]",
                          .types = R"(["float", "TensorList"])"};
  EXPECT_LT(Growth(layer, 16), 1.5);
  EXPECT_GT(Growth(layer, 512), 4);  // 34 GFLOP a time step
  BatchKernel unknown = layer;
  unknown.dims = nullptr;
  EXPECT_GT(Growth(unknown, 16), 15);
}

// 2,048 rows: the device's FLOPs are the limit, however few the blocks.
TEST(BatchGrowth, NothingIsFasterThanTheDevice) {
  const BatchKernel large{.blocks = 16, .ns = 450'000, .dims = "[[2048, 8192], [8192, 8192]]"};
  EXPECT_GT(Growth(large, 4), 3.5);
  EXPECT_GT(Growth(large, 4, Guess::kMost), 3.5);
}

TEST(BatchGrowth, ShapesOfOneStepCountInTheOthers) {
  const BatchKernel one{.blocks = 1024, .ns = 30'000, .dims = "[[1, 8192], [8192, 8192]]"};
  const Batched batched(std::move(BatchSteps().Steps({one}, 3)));
  EXPECT_LT(BatchGrowth(batched.model()).Of(batched.Task(0, 1), Guess::kLikely, 16), 1.1);
}

TEST(BatchGrowth, ParametersDoNotGrow) {
  EXPECT_EQ(Growth({.blocks = 264, .inside = "Optimizer.step#Adam.step"}, 4), 1);
  EXPECT_EQ(Growth({.blocks = 264, .inside = "Optimizer.zero_grad#Adam.zero_grad"}, 4), 1);
  EXPECT_EQ(Growth({.blocks = 264, .op = "aten::_foreach_add_"}, 4), 1);
  EXPECT_EQ(Growth({.blocks = 264, .inside = "torch::autograd::AccumulateGrad"}, 4), 1);
  EXPECT_EQ(Growth({.name = "ncclDevKernel_AllReduce_Sum_f32_RING_LL", .blocks = 24}, 4), 1);
}

// Autocast casts the weight of a layer, and its input.
TEST(BatchGrowth, CastsOfWeightsAreToldByTheirShape) {
  const BatchKernel layer{.blocks = 16, .op = "aten::linear", .dims = "[[64, 256], [512, 256]]"};
  const auto cast = [](const char* dims) {
    return BatchKernel{.name = kAdd,
                       .blocks = 16,
                       .op = "aten::copy_",
                       .dims = dims,
                       .types = R"(["c10::BFloat16", "float"])"};
  };
  EXPECT_EQ(RoleOf({cast("[[512, 256], [512, 256]]"), layer}), BatchRole::kParameters);
  EXPECT_EQ(RoleOf({cast("[[64, 256], [64, 256]]"), layer}), BatchRole::kSamples);
  // 64 positions of one sample look like the table that they come from.
  const BatchKernel table{.name = kAdd,
                          .blocks = 16,
                          .op = "aten::embedding",
                          .dims = "[[64, 256], [64]]",
                          .types = R"(["float", "long int"])"};
  EXPECT_EQ(RoleOf({cast("[[64, 256], [64, 256]]"), layer, table}), BatchRole::kSamples);
  BatchKernel fill = cast("[[64, 256]]");
  fill.op = "aten::zero_";
  EXPECT_EQ(RoleOf({fill, layer, table}), BatchRole::kParameters);
}

TEST(BatchGrowth, WeightGradientsAreToldByTheirResult) {
  const BatchKernel layer{.blocks = 16, .op = "aten::linear", .dims = "[[64, 256], [512, 256]]"};
  const auto product = [](const char* dims, bool backward) {
    return BatchKernel{.blocks = 16, .dims = dims, .backward = backward};
  };
  const char* weight = "[[512, 64], [64, 256]]";
  EXPECT_EQ(RoleOf({product(weight, true), layer}), BatchRole::kWeightGradient);
  EXPECT_EQ(RoleOf({product(weight, false), layer}), BatchRole::kSamples);
  EXPECT_EQ(RoleOf({product("[[64, 512], [512, 256]]", true), layer}), BatchRole::kSamples);
  // Positions again: the gradient of 64 rows of input, in the shape of a table.
  const BatchKernel table{.blocks = 16, .op = "aten::embedding", .dims = "[[64, 256], [64]]"};
  EXPECT_EQ(RoleOf({product("[[64, 512], [512, 256]]", true), layer, table}), BatchRole::kSamples);
  EXPECT_EQ(RoleOf({{.name = "sm90_xmma_wgrad_implicit_gemm_bf16", .blocks = 16}}),
            BatchRole::kWeightGradient);
}

// 64 channels, a block each: twice the batch makes no block more, but for what applies the result.
TEST(BatchGrowth, StatisticsOfABatchNormGoOverTheWholeBatch) {
  const auto norm = [](const char* kernel) {
    return Growth({.name = kernel, .blocks = 64, .op = "aten::native_batch_norm"}, 4);
  };
  EXPECT_NEAR(norm("void cudnn::bn_fw_tr_1C11_kernel_NCHW<float>"), 4, 0.1);
  EXPECT_NEAR(norm("void at::native::batch_norm_collect_statistics_kernel<float>"), 4, 0.1);
  EXPECT_LT(norm("void at::native::batch_norm_transform_input_kernel<float>"), 1.1);
}

// What is summed over grows by as much, unless the kernel is split into more blocks.
TEST(BatchGrowth, AWeightGradientMayTakeAllTheTime) {
  const char* wgrad = "sm90_xmma_wgrad_implicit_gemm_bf16";
  const char* dgrad = "sm90_xmma_dgrad_implicit_gemm_bf16";
  const auto least = [](const char* name) {
    return Growth({.name = name, .blocks = 8, .op = "aten::convolution_backward"}, 16,
                  Guess::kLeast);
  };
  EXPECT_GT(least(wgrad), 4);
  EXPECT_GT(least(wgrad), 1.3 * least(dgrad));
}

}  // namespace
}  // namespace hone::replay
