// SPDX-License-Identifier: Apache-2.0
// Convolutions by their roofline, against what an H200 took.
#include "replay/edits/convolution_times.h"

#include <gtest/gtest.h>

#include "replay/edits/batch_steps_test.h"
#include "replay/edits/edits.h"

namespace hone::replay {
namespace {

constexpr const char* kPlain =
    "sm80_xmma_wgrad_implicit_gemm_indexed_f32f32_f32f32_f32_nhwckrsc_nhwc_tilesize32x32x8_stage3_"
    "warpsize1x2x1_g1_ffma_execute_kernel__5x_cudnn";
constexpr const char* kFloats = R"(["float", "float", "", "", "", ""])";
constexpr const char* kThreeFloats =
    R"(["float", "float", "float", "", "", "", "", "", "", "", ""])";

BatchKernel Forward(const char* dims, const char* concrete, const char* types = kFloats) {
  return {.name = kPlain,
          .ns = 8'000'000,
          .op = "aten::cudnn_convolution",
          .dims = dims,
          .types = types,
          .concrete = concrete};
}
BatchKernel Backward(const char* dims, const char* concrete) {
  return {.name = kPlain,
          .ns = 8'000'000,
          .op = "aten::convolution_backward",
          .dims = dims,
          .types = kThreeFloats,
          .backward = true,
          .concrete = concrete};
}
// padding, stride, dilation, groups
constexpr const char* kSame = R"(["", "", "[1, 1]", "[1, 1]", "[1, 1]", "1"])";
// stride, padding, dilation, transposed, …, output mask
constexpr const char* kBothGradients =
    R"(["", "", "", "", "[1, 1]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1", "[True, True, False]"])";

double Microseconds(const BatchKernel& kernel, ConvolutionFormat format) {
  const Batched steps(std::move(BatchSteps().Steps({kernel})));
  const analyze::ModelledCalls calls(steps.model().trace());
  const ConvolutionTimes times(steps.model(), &calls);
  const trace::RowId work = steps.model().graph().tasks[steps.Task(0)].row;
  const auto call = times.Find(steps.model().trace().device.op[work]);
  EXPECT_TRUE(call.has_value());
  return call ? times.Of(*call, format) / 1e3 : 0;
}

// 16 images of 64 x 64 with 256 channels, 3x3: a denoiser took 288 and 803 us with TF32, 173 and
// 352 in bfloat16.
TEST(ConvolutionTimes, WideOnes) {
  const BatchKernel forward =
      Forward("[[16, 256, 64, 64], [256, 256, 3, 3], [], [], [], []]", kSame);
  const BatchKernel backward = Backward(
      "[[16, 256, 64, 64], [16, 256, 64, 64], [256, 256, 3, 3], [], [], [], [], [], [], [], []]",
      kBothGradients);
  EXPECT_NEAR(Microseconds(forward, ConvolutionFormat::kTf32), 288, 0.1 * 288);
  EXPECT_NEAR(Microseconds(backward, ConvolutionFormat::kTf32), 803, 0.1 * 803);
  EXPECT_NEAR(Microseconds(forward, ConvolutionFormat::kHalf), 173, 0.1 * 173);
  EXPECT_NEAR(Microseconds(backward, ConvolutionFormat::kHalf), 352, 0.1 * 352);
  EXPECT_LT(Microseconds(forward, ConvolutionFormat::kHalfLast), 120);
}

// Volumes of 96^3 with 32 channels, 3x3x3, took 1,030 and 3,705 us: few channels fill few units.
TEST(ConvolutionTimes, NarrowOnesReachLess) {
  const char* same = R"(["", "", "[1, 1, 1]", "[1, 1, 1]", "[1, 1, 1]", "1"])";
  const char* both =
      R"(["", "", "", "", "[1, 1, 1]", "[1, 1, 1]", "[1, 1, 1]", "False", "[0, 0, 0]", "1", "[True, True, False]"])";
  const BatchKernel forward =
      Forward("[[2, 32, 96, 96, 96], [32, 32, 3, 3, 3], [], [], [], []]", same);
  const BatchKernel backward = Backward(
      "[[2, 32, 96, 96, 96], [2, 32, 96, 96, 96], [32, 32, 3, 3, 3], [], [], [], [], [], [], [], "
      "[]]",
      both);
  EXPECT_NEAR(Microseconds(forward, ConvolutionFormat::kTf32), 1'030, 0.15 * 1'030);
  EXPECT_NEAR(Microseconds(backward, ConvolutionFormat::kTf32), 3'705, 0.15 * 3'705);
}

// A vocoder's 1-d convolutions, 32 signals: a third to two thirds of each is converting layouts, as
// much for a kernel of 3 as for one of 11.
TEST(ConvolutionTimes, NarrowOnesPayForTheirLayout) {
  const char* same = R"(["", "", "[0, 0]", "[1, 1]", "[1, 1]", "1"])";
  const auto forward = [&](const char* dims) {
    return Microseconds(Forward(dims, same), ConvolutionFormat::kTf32);
  };
  // Padding is left out, which shortens the output by a few of thousands.
  EXPECT_NEAR(forward("[[32, 128, 1, 2048], [128, 128, 1, 11], [], [], [], []]"), 126, 0.1 * 126);
  EXPECT_NEAR(forward("[[32, 64, 1, 4096], [64, 64, 1, 11], [], [], [], []]"), 108, 0.1 * 108);
  EXPECT_NEAR(forward("[[32, 64, 1, 4096], [64, 64, 1, 7], [], [], [], []]"), 85, 0.1 * 85);
  EXPECT_NEAR(forward("[[32, 128, 1, 2048], [128, 128, 1, 3], [], [], [], []]"), 66, 0.1 * 66);
  EXPECT_NEAR(forward("[[32, 32, 1, 8192], [32, 32, 1, 3], [], [], [], []]"), 69, 0.25 * 69);
}

// A kernel of one element is a product in any layout: nothing is converted.
TEST(ConvolutionTimes, PointwiseOnesConvertNothing) {
  const char* same = R"(["", "", "[0, 0]", "[1, 1]", "[1, 1]", "1"])";
  const double pointwise =
      Microseconds(Forward("[[16, 512, 32, 32], [512, 512, 1, 1], [], [], [], []]", same),
                   ConvolutionFormat::kTf32);
  const double wider =
      Microseconds(Forward("[[16, 512, 32, 32], [512, 512, 3, 3], [], [], [], []]", kSame),
                   ConvolutionFormat::kTf32);
  EXPECT_LT(pointwise, 50);
  EXPECT_NEAR(wider, 286, 0.1 * 286);
}

// The stem of a ConvNeXt took 76 us with TF32 as without.
TEST(ConvolutionTimes, ThreeChannelsAreNoProduct) {
  const BatchKernel stem = Forward("[[32, 3, 224, 224], [96, 3, 4, 4], [], [], [], []]",
                                   R"(["", "", "[0, 0]", "[4, 4]", "[1, 1]", "1"])");
  EXPECT_NEAR(Microseconds(stem, ConvolutionFormat::kTf32), 76, 0.15 * 76);
}

TEST(ConvolutionTimes, GroupsAreTold) {
  const auto kind = [](const char* dims) {
    const Batched steps(std::move(BatchSteps().Steps({Forward(dims, kSame)})));
    const analyze::ModelledCalls calls(steps.model().trace());
    const ConvolutionTimes times(steps.model(), &calls);
    const trace::RowId work = steps.model().graph().tasks[steps.Task(0)].row;
    return times.Find(steps.model().trace().device.op[work])->kind;
  };
  using Kind = ConvolutionTimes::Kind;
  EXPECT_EQ(kind("[[8, 96, 56, 56], [96, 96, 3, 3], [], [], [], []]"), Kind::kDense);
  EXPECT_EQ(kind("[[8, 96, 56, 56], [96, 24, 3, 3], [], [], [], []]"), Kind::kGrouped);
  EXPECT_EQ(kind("[[8, 96, 56, 56], [96, 1, 3, 3], [], [], [], []]"), Kind::kDepthwise);
}

TEST(ConvolutionTimes, NothingIsSaidOfOtherProductsOrWithoutShapes) {
  const BatchKernel product{.dims = "[[64, 64], [64, 64]]"};
  const Batched steps(std::move(BatchSteps().Steps({product})));
  const analyze::ModelledCalls calls(steps.model().trace());
  const trace::RowId work = steps.model().graph().tasks[steps.Task(0)].row;
  const trace::RowId op = steps.model().trace().device.op[work];
  EXPECT_FALSE(ConvolutionTimes(steps.model(), &calls).Find(op).has_value());
  EXPECT_FALSE(ConvolutionTimes(steps.model(), nullptr).Find(op).has_value());
}

// Nanoseconds of each kernel of a step with the fix.
std::vector<Nanos> WithTf32(const std::vector<BatchKernel>& kernels) {
  const Batched steps(std::move(BatchSteps().Steps(kernels)));
  const FoundEdit edit = FindNoTensorCores(steps.model());
  Plan plan(steps.model().graph());
  if (edit) (*edit)->Apply(steps.model(), Guess::kLikely, plan);
  std::vector<Nanos> left;
  for (std::size_t i = 0; i < kernels.size(); ++i) left.push_back(plan.duration_ns[steps.Task(i)]);
  return left;
}

TEST(NoTensorCores, ABadlyChosenKernelGoesToo) {
  const std::vector<Nanos> left = WithTf32({Backward(
      "[[16, 256, 64, 64], [16, 256, 64, 64], [256, 256, 3, 3], [], [], [], [], [], [], [], []]",
      kBothGradients)});
  EXPECT_NEAR(static_cast<double>(left[0]), 803e3, 0.1 * 803e3) << "of 8 ms";
}

BatchKernel Unshaped(const char* name, Nanos ns, bool backward) {
  return {.name = name,
          .ns = ns,
          .op = backward ? "aten::convolution_backward" : "aten::cudnn_convolution",
          .backward = backward,
          .number = backward ? -1 : 1};
}

// Gradients take 3.1 times the forward call on matrix units; without shapes that tells.
TEST(NoTensorCores, WithoutShapesTheForwardCallTellsWhatItsGradientsTake) {
  std::vector<Nanos> left =
      WithTf32({Unshaped(kPlain, 420'000, false), Unshaped(kPlain, 6'000'000, true)});
  EXPECT_NEAR(static_cast<double>(left[0]), 100e3, 5e3);
  EXPECT_NEAR(static_cast<double>(left[1]), 3.1 * static_cast<double>(left[0]), 1e3);
  left = WithTf32({Unshaped(kPlain, 420'000, false), Unshaped(kPlain, 840'000, true)});
  EXPECT_NEAR(static_cast<double>(left[1]), 2.0 * static_cast<double>(left[0]), 1e3) << "as usual";
}

// Layers that are not trained carry the number of the node that comes next.
TEST(NoTensorCores, OfForwardCallsWithOneNumberTheLastIsTheNodes) {
  const std::vector<Nanos> left =
      WithTf32({Unshaped("conv2d_c1_k1_nhwc_kernel_specialized<float, float>", 900'000, false),
                Unshaped(kPlain, 420'000, false), Unshaped(kPlain, 6'000'000, true)});
  EXPECT_NEAR(static_cast<double>(left[2]), 3.1 * static_cast<double>(left[1]), 1e3);
}

TEST(NoTensorCores, AForwardCallOnMatrixUnitsIsNoFasterThere) {
  const char* units =
      "sm90_xmma_fprop_implicit_gemm_f32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize128x128x32_execute";
  const std::vector<Nanos> left =
      WithTf32({Unshaped(units, 100'000, false), Unshaped(kPlain, 6'000'000, true)});
  EXPECT_EQ(left[0], 100'000);
  EXPECT_NEAR(static_cast<double>(left[1]), 310e3, 5e3);
}

TEST(NoTensorCores, DepthwiseConvolutionsGainLittle) {
  const char* direct = "void cudnn::cnn::wgrad2d_grouped_direct_kernel<false, true, int, float>";
  const std::vector<Nanos> left =
      WithTf32({Unshaped("conv2d_c1_k1_nhwc_kernel_specialized<float, float>", 420'000, false),
                Unshaped(direct, 4'200'000, true)});
  EXPECT_EQ(left[0], 420'000);
  EXPECT_NEAR(static_cast<double>(left[1]), 4'200e3 / 1.35, 1e3);
}

// Nanoseconds of each kernel under autocast, on a device of that name.
std::vector<Nanos> InHalf(const std::vector<BatchKernel>& kernels, const char* device,
                          FoundEdit (*find)(const Model&)) {
  BatchSteps sketch;
  sketch.builder.trace().devices[0].name = device;
  const Batched steps(std::move(sketch.Steps(kernels)));
  const FoundEdit edit = find(steps.model());
  EXPECT_TRUE(edit.has_value()) << edit.why_not();
  Plan plan(steps.model().graph());
  if (edit) (*edit)->Apply(steps.model(), Guess::kLikely, plan);
  std::vector<Nanos> left;
  for (std::size_t i = 0; i < kernels.size(); ++i) left.push_back(plan.duration_ns[steps.Task(i)]);
  return left;
}

std::vector<Nanos> InBfloat16(const std::vector<BatchKernel>& kernels,
                              const char* device = "NVIDIA H200") {
  return InHalf(kernels, device, FindBf16Autocast);
}

constexpr const char* kTf32 =
    "sm90_xmma_fprop_implicit_gemm_f32f32_tf32f32_f32_nhwckrsc_nchw_tilesize128x128x32_execute";

// 288 us with TF32 become 173 in NCHW; a cast of the input (25 us) and of the weight come with it.
TEST(Bf16Autocast, ConvolutionsGainByBothRooflines) {
  BatchKernel convolution = Forward("[[16, 256, 64, 64], [256, 256, 3, 3], [], [], [], []]", kSame);
  convolution.name = "sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nchwkcrs_nchw_tensor16x8x8";
  convolution.ns = 288'000;
  const std::vector<Nanos> left = InBfloat16({convolution});
  EXPECT_GT(left[0], 150'000);
  EXPECT_LT(left[0], 230'000);
}

// Without shapes its kernel's name tells a depthwise one, of which 0.8 is left; casts come on top.
TEST(Bf16Autocast, DepthwiseConvolutionsGainLittleWithoutShapesToo) {
  const std::vector<Nanos> left =
      InBfloat16({Unshaped("conv2d_c1_k1_nhwc_kernel_specialized<float, float>", 1'000'000, false),
                  Unshaped(kTf32, 1'000'000, false)});
  EXPECT_GE(left[0], 800'000);
  EXPECT_LT(left[0] - left[1], 300'000) << "casts of both are alike";
  EXPECT_GT(left[0], left[1]);
}

TEST(Bf16Autocast, ADeviceWithoutTf32IsNotPricedByIt) {
  BatchKernel convolution = Forward("[[16, 256, 64, 64], [256, 256, 3, 3], [], [], [], []]", kSame);
  convolution.name = kTf32;
  EXPECT_GT(InBfloat16({convolution}, "AMD Instinct MI250X")[0], 50'000);
}

TEST(Bf16Autocast, WorkWithoutLengthStaysWithoutMuch) {
  BatchKernel attention{.name = "fmha_cutlassF_f32_aligned_64x64_rf_sm80",
                        .ns = 0,
                        .op = "aten::_efficient_attention_forward"};
  BatchKernel convolution = Forward("[[16, 256, 64, 64], [256, 256, 3, 3], [], [], [], []]", kSame);
  convolution.ns = 0;
  const std::vector<Nanos> left =
      InBfloat16({attention, convolution, {.name = kTf32, .op = "aten::conv2d"}});
  EXPECT_GE(left[0], 0);
  EXPECT_LT(left[0], kMillisecond);
  EXPECT_GE(left[1], 0);
  EXPECT_LT(left[1], kMillisecond);
}

// 29 GFLOP: 1,027 us in fp32 became 84 in a RoBERTa, 125 by what others reach.
TEST(Bf16Autocast, FusedAttentionGainsByItsFlops) {
  const std::vector<Nanos> left = InBfloat16({{.name = "fmha_cutlassF_f32_aligned_64x64_rf_sm80",
                                               .ns = 1'027'000,
                                               .op = "aten::_efficient_attention_forward"}});
  EXPECT_GT(left[0], 80'000);
  EXPECT_LT(left[0], 150'000);
}

std::vector<Nanos> InFloat16(const std::vector<BatchKernel>& kernels) {
  return InHalf(kernels, "Tesla V100-SXM2-32GB", FindFp16Autocast);
}

// 77 GFLOP at 65 % of what a V100 reaches of its 125 TFLOP/s, whatever they took; without shapes
// 4.2 times as fast as far as its units are faster than its cores, and 1.4 times for float16.
TEST(Fp16Autocast, ConvolutionsRunOnUnitsWithoutTf32) {
  BatchKernel shaped = Forward("[[16, 256, 64, 64], [256, 256, 3, 3], [], [], [], []]", kSame);
  shaped.name = "volta_scudnn_128x128_relu_medium_nn_v1";
  const std::vector<Nanos> left =
      InFloat16({shaped, Unshaped("volta_scudnn_128x128_relu_medium_nn_v1", 4'000'000, false)});
  EXPECT_NEAR(static_cast<double>(left[0]), 77.3e9 / (0.65 * 0.8 * 125e3), 250e3) << "and casts";
  const double gain = 4.2 * (62.5 / 15.7) / (494.7 / 66.9) * 1.4;
  EXPECT_NEAR(static_cast<double>(left[1]), 4e6 / gain, 60e3);
}

// torch asks cuDNN for batch norms in float16, and for none in bfloat16.
TEST(Fp16Autocast, BatchNormsStayWithCudnn) {
  const BatchKernel convolution =
      Unshaped("volta_scudnn_128x128_relu_medium_nn_v1", 1'000'000, false);
  const BatchKernel norm{
      .name = "void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, 512, true, 1>",
      .ns = 1'000'000,
      .op = "aten::cudnn_batch_norm"};
  EXPECT_NEAR(static_cast<double>(InFloat16({convolution, norm})[1]), 850e3, 2e3);
  EXPECT_NEAR(static_cast<double>(InBfloat16({convolution, norm})[1]), 1e6, 2e3);
}

}  // namespace
}  // namespace hone::replay
