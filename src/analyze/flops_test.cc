// SPDX-License-Identifier: Apache-2.0
#include "analyze/flops.h"

#include <gtest/gtest.h>

#include <string>

namespace hone::analyze {
namespace {

std::optional<Work> Model(std::string_view op, std::string_view dims, std::string_view types,
                          std::string_view concrete = "") {
  return ModelOp(op, ParseArguments(dims, types, concrete));
}

TEST(ParseArguments, ReadsTensorsListsAndTexts) {
  const std::string dims = "[[64, 3], [], [[128, 128], [128], []]]";
  const std::string types = R"(["c10::BFloat16", "Scalar", "TensorList"])";
  const std::string concrete = R"(["", "[2, 2]", ""])";
  const auto arguments = ParseArguments(dims, types, concrete);
  ASSERT_EQ(arguments.size(), 3u);
  EXPECT_EQ(arguments[0].dims, (std::vector<std::int64_t>{64, 3}));
  EXPECT_EQ(arguments[0].type, "c10::BFloat16");
  EXPECT_EQ(arguments[0].Bytes(), 384);
  EXPECT_FALSE(arguments[1].IsTensor());
  EXPECT_EQ(arguments[1].concrete, "[2, 2]");
  ASSERT_EQ(arguments[2].list.size(), 3u);
  EXPECT_EQ(arguments[2].list[1], std::vector<std::int64_t>{128});
  EXPECT_TRUE(arguments[2].list[2].empty());
  // Views into the caller's text, not into a buffer of the parser.
  EXPECT_GE(arguments[0].type.data(), types.data());
  EXPECT_LT(arguments[0].type.data(), types.data() + types.size());
}

TEST(ParseArguments, IndentedTextIsTheSame) {
  const auto arguments = ParseArguments("[\n  [\n 8944,\n 1024 ]\n]", "[\n \"float\"\n]", "");
  ASSERT_EQ(arguments.size(), 1u);
  EXPECT_EQ(arguments[0].Elements(), 8944.0 * 1024);
  EXPECT_EQ(arguments[0].type, "float");
}

TEST(ParseArguments, MalformedTextIsEmpty) {
  for (const char* dims : {"", "[", "[[1, 2]", "{}", "[1]", "[[-1]]", "[[\"x\"]]", "[[1.5]]",
                           "[[99999999999999999999]]", "null"}) {
    EXPECT_TRUE(ParseArguments(dims, "[\"float\"]", "").empty()) << dims;
  }
  EXPECT_TRUE(ParseArguments("[[1]]", "[\"float\"", "").empty());
  EXPECT_TRUE(ParseArguments("[[1]]", "", "").empty());
  EXPECT_EQ(ParseArguments("[]", "[]", "").size(), 0u);
  // More types than dims, or fewer: what has both counts.
  EXPECT_EQ(ParseArguments("[[4]]", R"(["float", "int"])", "").size(), 1u);
  EXPECT_FALSE(ParseArguments("[[4], [4]]", R"(["float"])", "")[1].IsTensor());
}

TEST(Types, SizesAndPrecisions) {
  EXPECT_EQ(TypeBytes("float"), 4);
  EXPECT_EQ(TypeBytes("c10::Half"), 2);
  EXPECT_EQ(TypeBytes("long int"), 8);
  EXPECT_EQ(TypeBytes("bool"), 1);
  EXPECT_EQ(TypeBytes("c10::Float8_e4m3fn"), 1);
  EXPECT_EQ(TypeBytes("c10::complex<float>"), 8);
  EXPECT_EQ(TypeBytes("Scalar"), 0);
  EXPECT_EQ(TypeBytes("TensorList"), 0);
  EXPECT_EQ(TypeBytes(""), 0);
  EXPECT_EQ(TypePrecision("c10::Float8_e5m2"), Precision::kFp8);
  EXPECT_EQ(TypePrecision("c10::BFloat16"), Precision::kBf16);
}

TEST(Flops, Matmul) {
  // 2 · 3 · 5 · 7 = 210; bytes 4 · (15 + 35 + 21) = 284.
  const auto mm = Model("aten::mm", "[[3, 5], [5, 7]]", R"(["float", "float"])");
  ASSERT_TRUE(mm);
  EXPECT_EQ(mm->flops, 210);
  EXPECT_EQ(mm->bytes, 284);

  const auto addmm = Model("aten::addmm", "[[7], [3, 5], [5, 7], [], []]",
                           R"(["float", "float", "float", "Scalar", "Scalar"])");
  ASSERT_TRUE(addmm);
  EXPECT_EQ(addmm->flops, 210);
  EXPECT_EQ(addmm->bytes, 284 + 28);

  EXPECT_EQ(Model("aten::bmm", "[[2, 3, 5], [2, 5, 7]]", R"(["float", "float"])")->flops, 420);
  EXPECT_EQ(
      Model("aten::baddbmm", "[[2, 3, 7], [2, 3, 5], [2, 5, 7]]", R"(["float", "float", "float"])")
          ->flops,
      420);
  EXPECT_EQ(Model("aten::matmul", "[[4, 1, 3, 5], [2, 5, 7]]", R"(["float", "float"])")->flops,
            8 * 210);
  EXPECT_EQ(Model("aten::mv", "[[3, 5], [5]]", R"(["float", "float"])")->flops, 30);
  EXPECT_EQ(
      Model("aten::linear", "[[2, 3, 5], [7, 5], [7]]", R"(["float", "float", "float"])")->flops,
      420);
}

TEST(Flops, LowPrecisionMatmulWritesWiderResults) {
  // fp8 in, fp32 (ScalarType 6) out: 15 + 35 + 4 · 21.
  const auto scaled = Model(
      "aten::_scaled_mm", "[[3, 5], [5, 7], [], [], [], [], [], []]",
      R"(["c10::Float8_e4m3fn", "c10::Float8_e4m3fn", "float", "float", "", "", "Scalar", "Scalar"])",
      R"(["", "", "", "", "", "", "6", "True"])");
  ASSERT_TRUE(scaled);
  EXPECT_EQ(scaled->flops, 210);
  EXPECT_EQ(scaled->bytes, 15 + 35 + 84);
  EXPECT_EQ(Model("aten::_int_mm", "[[3, 5], [5, 7]]", R"(["signed char", "signed char"])")->bytes,
            15 + 35 + 84);
}

TEST(Flops, GroupedMatmulDoesNotMultiplyByTheGroups) {
  const auto work = Model("aten::_grouped_mm", "[[2048, 64], [4, 64, 512], [4], [], []]",
                          R"(["c10::BFloat16", "c10::BFloat16", "int", "", ""])");
  ASSERT_TRUE(work);
  EXPECT_EQ(work->flops, 2.0 * 2048 * 64 * 512);
}

TEST(Flops, ShapesThatDoNotFitAreAbsent) {
  EXPECT_FALSE(Model("aten::mm", "[[3, 5], [4, 7]]", R"(["float", "float"])"));
  EXPECT_FALSE(Model("aten::mm", "[[3, 5]]", R"(["float"])"));
  EXPECT_FALSE(Model("aten::mm", "[[], []]", R"(["float", "float"])"));
  EXPECT_FALSE(Model("aten::nonesuch", "[[3, 5]]", R"(["float"])"));
  EXPECT_FALSE(Model("mm", "[[3, 5], [5, 7]]", R"(["float", "float"])"));
  EXPECT_EQ(ModelKindOf("aten::view"), ModelKind::kNone);
  EXPECT_EQ(ModelKindOf("aten::add_"), ModelKind::kElementwise);
}

constexpr const char* kConvTypes =
    R"(["float", "float", "", "ScalarList", "ScalarList", "ScalarList", "Scalar", "ScalarList", "Scalar"])";

TEST(Flops, Convolution) {
  // ResNet's first layer: 64 images, 112 · 112 positions, 64 · 3 · 7 · 7 weights.
  const auto work =
      Model("aten::convolution", "[[64, 3, 224, 224], [64, 3, 7, 7], [], [], [], [], [], [], []]",
            kConvTypes, R"(["", "", "", "[2, 2]", "[3, 3]", "[1, 1]", "False", "[0, 0]", "1"])");
  ASSERT_TRUE(work);
  EXPECT_EQ(work->flops, 2.0 * 64 * 112 * 112 * 64 * 3 * 7 * 7);
  EXPECT_EQ(work->bytes, 4.0 * (64 * 3 * 224 * 224 + 64 * 3 * 7 * 7 + 64.0 * 64 * 112 * 112));
  // Another argument order for the same work: padding before stride.
  const auto cudnn = Model(
      "aten::cudnn_convolution", "[[64, 3, 224, 224], [64, 3, 7, 7], [], [], [], [], [], [], []]",
      R"(["float", "float", "ScalarList", "ScalarList", "ScalarList", "Scalar", "Scalar", "Scalar", "Scalar"])",
      R"(["", "", "[3, 3]", "[2, 2]", "[1, 1]", "1", "True", "False", "True"])");
  ASSERT_TRUE(cudnn);
  EXPECT_EQ(cudnn->flops, work->flops);
}

TEST(Flops, GroupedDilatedAndTransposedConvolutions) {
  // Depthwise 3x3: one input channel a filter. Dilation 2 reaches 5 wide: 8 + 2·2 − 5 + 1 = 8.
  const auto depthwise =
      Model("aten::convolution", "[[2, 16, 8, 8], [16, 1, 3, 3], [], [], [], [], [], [], []]",
            kConvTypes, R"(["", "", "", "[1, 1]", "[2, 2]", "[2, 2]", "False", "[0, 0]", "16"])");
  ASSERT_TRUE(depthwise);
  EXPECT_EQ(depthwise->flops, 2.0 * 2 * 8 * 8 * 16 * 9);
  // Transposed: every input position meets every weight.
  const auto transposed =
      Model("aten::convolution", "[[8, 64, 28, 28], [64, 32, 4, 4], [], [], [], [], [], [], []]",
            kConvTypes, R"(["", "", "", "[2, 2]", "[1, 1]", "[1, 1]", "True", "[0, 0]", "1"])");
  ASSERT_TRUE(transposed);
  EXPECT_EQ(transposed->flops, 2.0 * 8 * 28 * 28 * 64 * 32 * 16);
  // Without the concrete stride and padding the output is unknown.
  EXPECT_FALSE(Model("aten::convolution",
                     "[[8, 64, 28, 28], [64, 64, 3, 3], [], [], [], [], [], [], []]", kConvTypes));
  // A stride of zero and a kernel wider than the image come from damaged files.
  EXPECT_FALSE(Model("aten::convolution",
                     "[[8, 64, 28, 28], [64, 64, 3, 3], [], [], [], [], [], [], []]", kConvTypes,
                     R"(["", "", "", "[0, 0]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1"])"));
  EXPECT_FALSE(Model("aten::convolution",
                     "[[8, 64, 2, 2], [64, 64, 7, 7], [], [], [], [], [], [], []]", kConvTypes,
                     R"(["", "", "", "[1, 1]", "[0, 0]", "[1, 1]", "False", "[0, 0]", "1"])"));
}

TEST(Flops, ConvolutionBackwardCountsWhatTheMaskAsksFor) {
  const auto backward = [](const char* mask) {
    return Model(
        "aten::convolution_backward",
        "[[64, 2048, 7, 7], [64, 512, 7, 7], [2048, 512, 1, 1], [], [], [], [], [], [], [], []]",
        R"(["float", "float", "float", "ScalarList", "ScalarList", "ScalarList", "ScalarList", "Scalar", "ScalarList", "Scalar", "ScalarList"])",
        std::string(
            R"(["", "", "", "[0]", "[1, 1]", "[0, 0]", "[1, 1]", "False", "[0, 0]", "1", ")") +
            mask + "\"]");
  };
  const double forward = 2.0 * 64 * 49 * 2048 * 512;
  EXPECT_EQ(backward("[True, True, False]")->flops, 2 * forward);
  EXPECT_EQ(backward("[False, True, False]")->flops, forward);
  EXPECT_EQ(backward("[False, False, True]")->flops, 0);
  EXPECT_FALSE(backward(""));
}

TEST(Flops, Attention) {
  const char* dims = "[[2, 8, 512, 64], [2, 2, 512, 64], [2, 2, 512, 64], [], [], [], []]";
  const char* types =
      R"(["c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "Scalar", "Scalar", "Scalar", "Scalar"])";
  // Grouped queries: two key heads serve eight query heads, whose number counts.
  const double full = 2.0 * 2 * 8 * 512 * 512 * (64 + 64);
  const auto plain = Model("aten::_scaled_dot_product_flash_attention", dims, types,
                           R"(["", "", "", "0.", "False", "False", "0.125"])");
  const auto causal = Model("aten::_scaled_dot_product_flash_attention", dims, types,
                            R"(["", "", "", "0.", "True", "False", "0.125"])");
  ASSERT_TRUE(plain && causal);
  EXPECT_EQ(plain->flops, full);
  EXPECT_EQ(causal->flops, full / 2);
  EXPECT_EQ(plain->bytes, 2.0 * (2 * 8 * 512 * 64 * 2 + 2 * (2 * 2 * 512 * 64)));
  EXPECT_FALSE(Model("aten::_scaled_dot_product_flash_attention", dims, types));
}

TEST(Flops, AttentionBackwardAndTheOtherLayout) {
  const double full = 2.0 * 2 * 8 * 512 * 512 * (64 + 64);
  // [batch, sequence, heads, dim], mask type 1 (causal).
  const auto forward = Model(
      "aten::_efficient_attention_forward",
      "[[2, 512, 8, 64], [2, 512, 8, 64], [2, 512, 8, 64], [], [], [], [], [], [], [], [], [], [], "
      "[]]",
      R"(["float", "float", "float", "", "", "", "", "", "Scalar", "Scalar", "Scalar", "", "", ""])",
      R"(["", "", "", "", "", "", "", "", "0.", "1", "True", "", "", ""])");
  ASSERT_TRUE(forward);
  EXPECT_EQ(forward->flops, full / 2);
  const auto backward = Model(
      "aten::_scaled_dot_product_flash_attention_backward",
      "[[2, 8, 512, 64], [2, 8, 512, 64], [2, 8, 512, 64], [2, 8, 512, 64], [2, 8, 512, 64], [2, "
      "8, 512], [], [], [], [], [], [], [2], [], []]",
      R"(["float", "float", "float", "float", "float", "float", "", "", "Scalar", "Scalar", "Scalar", "Scalar", "long unsigned int", "long unsigned int", "Scalar"])",
      R"(["", "", "", "", "", "", "", "", "512", "512", "0.", "False", "", "", "0.125"])");
  ASSERT_TRUE(backward);
  EXPECT_EQ(backward->flops, 2.5 * full);
  // Packed sequences: lengths unknown.
  EXPECT_FALSE(
      Model("aten::_flash_attention_forward",
            "[[1024, 8, 64], [1024, 8, 64], [1024, 8, 64], [5], [5], [], [], [], []]",
            R"(["float", "float", "float", "int", "int", "Scalar", "Scalar", "Scalar", "Scalar"])",
            R"(["", "", "", "", "", "512", "512", "0.", "True"])"));
}

TEST(Flops, DataMovers) {
  const auto work = [](const char* op, const char* dims, const char* types,
                       const char* concrete = "") {
    const auto found = Model(op, dims, types, concrete);
    EXPECT_TRUE(found) << op;
    return found.value_or(Work{});
  };
  // Broadcasting: [4, 1] + [3] makes [4, 3].
  Work sum = work("aten::add", "[[4, 1], [3], []]", R"(["float", "float", "Scalar"])");
  EXPECT_EQ(sum.flops, 12);
  EXPECT_EQ(sum.bytes, 4 * (4 + 3 + 12));
  // A double without dims does not make the result double.
  EXPECT_EQ(work("aten::sub", "[[8, 1], [], []]", R"(["float", "double", "Scalar"])").bytes,
            32 + 8 + 32);
  EXPECT_EQ(work("aten::eq", "[[8], [8]]", R"(["long int", "long int"])").bytes, 64 + 64 + 8);
  EXPECT_EQ(work("aten::zero_", "[[8]]", R"(["float"])").bytes, 32);
  EXPECT_EQ(work("aten::copy_", "[[8], [8], []]", R"(["c10::BFloat16", "float", "Scalar"])").bytes,
            48);
  EXPECT_EQ(work("aten::sum", "[[5, 128], [], [], []]", R"(["float", "", "", ""])").bytes, 2560);
  EXPECT_EQ(work("aten::_softmax", "[[2, 10], [], []]", R"(["c10::Half", "Scalar", "Scalar"])",
                 R"(["", "-1", "True"])")
                .bytes,
            40 + 80);
  EXPECT_EQ(work("aten::native_layer_norm", "[[64, 512], [], [512], [512], []]",
                 R"(["float", "", "float", "float", "Scalar"])")
                .bytes,
            4.0 * (2 * 64 * 512 + 2 * 512));
  // 64 rows of 32 floats, read and written, and 64 indices of 8 bytes.
  EXPECT_EQ(work("aten::embedding", "[[1000, 32], [64], [], [], []]",
                 R"(["float", "long int", "Scalar", "Scalar", "Scalar"])")
                .bytes,
            64 * 8 + 2 * 64 * 32 * 4);
  EXPECT_EQ(work("aten::index_select", "[[10, 20], [], [5]]", R"(["float", "Scalar", "long int"])",
                 R"(["", "-1", ""])")
                .bytes,
            40 + 2 * 5 * 10 * 4);
  EXPECT_EQ(work("aten::max_pool2d_with_indices", "[[1, 1, 4, 4], [], [], [], [], []]",
                 R"(["float", "ScalarList", "ScalarList", "ScalarList", "ScalarList", "Scalar"])",
                 R"(["", "[2, 2]", "[]", "[0, 0]", "[1, 1]", "False"])")
                .flops,
            4 * 4);
}

TEST(Flops, ListsHaveNoElementSize) {
  const char* list = "[[64, 64], [64]]";
  const std::string dims =
      std::string("[") + list + ", " + list + ", " + list + ", " + list + ", [], [[], []]]";
  const auto adam = Model(
      "aten::_fused_adamw_", dims,
      R"(["TensorList", "TensorList", "TensorList", "TensorList", "TensorList", "TensorList"])");
  ASSERT_TRUE(adam);
  EXPECT_EQ(adam->unsized_elements, 7 * (64 * 64 + 64));
  EXPECT_EQ(adam->bytes, 0);
  const auto cat = Model("aten::cat", "[[[2, 3], [2, 5]], []]", R"(["TensorList", "Scalar"])");
  ASSERT_TRUE(cat);
  EXPECT_EQ(cat->unsized_elements, 2 * (6 + 10));
  // Kineto writes no shapes of lists longer than thirty.
  EXPECT_FALSE(Model(
      "aten::_fused_adam_", "[[], [], [], [], [], []]",
      R"(["TensorList", "TensorList", "TensorList", "TensorList", "TensorList", "TensorList"])"));
  EXPECT_EQ(Model("aten::_foreach_add_", "[[[4], [4]], [[4], [4]], []]",
                  R"(["TensorList", "TensorList", "Scalar"])")
                ->unsized_elements,
            24);
}

}  // namespace
}  // namespace hone::analyze
