// SPDX-License-Identifier: Apache-2.0
// What channels last takes away: conversions, and what batch norms lose to NCHW.
#include <gtest/gtest.h>

#include "replay/edits/batch_steps_test.h"
#include "replay/edits/edits.h"

namespace hone::replay {
namespace {

constexpr const char* kConvert = "void cudnn::engines_precompiled::nchwToNhwcKernel<__nv_bfloat16>";
constexpr const char* kStatistics =
    "void at::native::batch_norm_collect_statistics_kernel<at::native::Var, c10::BFloat16>";
constexpr const char* kTransform = "void at::native::batch_norm_transform_input_kernel<float>";
constexpr const char* kBackward = "void at::native::batch_norm_backward_kernel<c10::BFloat16>";
constexpr const char* kLast = "void at::native::batch_norm_transform_input_channels_last_kernel<4>";
constexpr const char* kInput = "[[64, 256, 56, 56], [256], [256]]";  // 103 MB
constexpr const char* kTypes = R"(["c10::BFloat16", "float", "float"])";
constexpr const char* kGradient = "[[64, 256, 56, 56], [64, 256, 56, 56], [256]]";
constexpr const char* kGradientTypes = R"(["c10::BFloat16", "c10::BFloat16", "float"])";

BatchKernel Forward(const char* kernel, Nanos ns, const char* dims = kInput) {
  return {.name = kernel, .ns = ns, .op = "aten::native_batch_norm", .dims = dims, .types = kTypes};
}

// A conversion, then the kernel: how long it takes with the fix.
Nanos After(const BatchKernel& kernel, Guess guess = Guess::kLikely, int shapes_in = 0,
            Nanos layout_ns = 0) {
  const Batched steps(std::move(BatchSteps().Steps(
      {{.name = kConvert, .op = "aten::cudnn_convolution"}, kernel}, shapes_in)));
  const FoundEdit edit = FindLayoutConversion(steps.model());
  EXPECT_TRUE(edit.has_value()) << edit.why_not();
  Plan plan(steps.model().graph());
  if (layout_ns > 0) {
    plan.layout_ns.resize(steps.model().graph().tasks.size(), 0);
    plan.layout_ns[steps.Task(1)] = layout_ns;
  }
  (*edit)->Apply(steps.model(), guess, plan);
  if (guess == Guess::kLikely) {
    EXPECT_EQ(plan.duration_ns[steps.Task(0)], 0);
  }
  return plan.duration_ns[steps.Task(1)];
}

// A recording of ResNet-50 with channels last had 150, 74 and 182 us for this tensor.
TEST(LayoutConversion, BatchNormsTakeWhatTheirBytesTakeWithChannelsLast) {
  EXPECT_NEAR(static_cast<double>(After(Forward(kStatistics, 900'000))), 150e3, 10e3);
  EXPECT_NEAR(static_cast<double>(After(Forward(kTransform, 900'000))), 74e3, 5e3);
  const BatchKernel backward = {.name = kBackward,
                                .ns = 900'000,
                                .op = "aten::native_batch_norm_backward",
                                .dims = kGradient,
                                .types = kGradientTypes,
                                .backward = true};
  EXPECT_NEAR(static_cast<double>(After(backward)), 182e3, 30e3);
}

TEST(LayoutConversion, ABatchNormNeverGetsSlower) {
  EXPECT_EQ(After(Forward(kStatistics, 50'000)), 50'000);
  EXPECT_EQ(After(Forward(kStatistics, 50'000), Guess::kLeast), 50'000);
}

TEST(LayoutConversion, GuessesLieAroundIt) {
  const BatchKernel norm = Forward(kStatistics, 900'000);
  EXPECT_GT(After(norm, Guess::kLeast), After(norm));
  EXPECT_LT(After(norm, Guess::kMost), After(norm));
}

TEST(LayoutConversion, WithoutShapesABatchNormStaysAndMayGain) {
  const BatchKernel norm = Forward(kStatistics, 900'000, nullptr);
  EXPECT_EQ(After(norm), 900'000);
  EXPECT_EQ(After(norm, Guess::kLeast), 900'000);
  EXPECT_LT(After(norm, Guess::kMost), 900'000);
}

// Its tensor of 103 MB by the transform, which takes 4.6 times what the bytes take at the
// bandwidth, or by the statistics, whichever is less; the backward pass by the forward one of its
// node.
TEST(LayoutConversion, WithoutShapesTheKernelsOfTheForwardPassTellTheBytes) {
  BatchKernel statistics = Forward(kStatistics, 900'000, nullptr);
  BatchKernel transform = Forward(kTransform, 116'000, nullptr);
  statistics.number = transform.number = 1;
  BatchKernel backward = {
      .name = kBackward, .ns = 900'000, .op = "aten::native_batch_norm_backward"};
  backward.backward = true;
  const Batched steps(std::move(BatchSteps().Steps(
      {{.name = kConvert, .op = "aten::cudnn_convolution"}, statistics, transform, backward})));
  const FoundEdit edit = FindLayoutConversion(steps.model());
  ASSERT_TRUE(edit.has_value()) << edit.why_not();
  Plan plan(steps.model().graph());
  (*edit)->Apply(steps.model(), Guess::kLikely, plan);
  EXPECT_NEAR(static_cast<double>(plan.duration_ns[steps.Task(1)]), 159e3, 10e3);
  EXPECT_NEAR(static_cast<double>(plan.duration_ns[steps.Task(2)]), 79e3, 5e3);
  EXPECT_NEAR(static_cast<double>(plan.duration_ns[steps.Task(3)]), 218e3, 10e3);
}

TEST(LayoutConversion, ShapesOfOneStepDoForTheOthers) {
  EXPECT_LT(After(Forward(kStatistics, 900'000), Guess::kLikely, 1), 200'000);
}

TEST(LayoutConversion, OtherKernelsStay) {
  EXPECT_EQ(After(Forward(kLast, 900'000)), 900'000);
  EXPECT_EQ(After(Forward("void cudnn::bn_fw_tr_1C11_kernel_NCHW<float>", 900'000)), 900'000);
}

// bf16-autocast said already what of it is the layout's.
TEST(LayoutConversion, WhatAnotherEditSaidOfTheLayoutCounts) {
  EXPECT_EQ(After(Forward(kStatistics, 900'000), Guess::kLikely, 0, 300'000), 600'000);
}

}  // namespace
}  // namespace hone::replay
