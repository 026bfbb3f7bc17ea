// SPDX-License-Identifier: Apache-2.0
#include "import/nsys/nvtx_name.h"

#include <gtest/gtest.h>

#include <string>

namespace hone::importer::nsys {
namespace {

TEST(NvtxName, OperatorWithEveryKey) {
  const NvtxName parsed = ParseNvtxName(
      "aten::addmm, seq = 12, op_id = 314290, sizes = [[64], [8, 32], []], "
      "input_op_ids = [(3,0), (4,1)]");
  EXPECT_EQ(parsed.name, "aten::addmm");
  EXPECT_TRUE(parsed.is_operator);
  EXPECT_EQ(parsed.sequence, 12);
  EXPECT_EQ(parsed.op_id, 314290);
  EXPECT_EQ(parsed.sizes, "[[64], [8, 32], []]");
}

TEST(NvtxName, OperatorWithoutSequence) {
  const NvtxName parsed = ParseNvtxName("aten::view, op_id = 7");
  EXPECT_EQ(parsed.name, "aten::view");
  EXPECT_TRUE(parsed.is_operator);
  EXPECT_EQ(parsed.sequence, -1);
  EXPECT_EQ(parsed.op_id, 7);
  EXPECT_TRUE(parsed.sizes.empty());
}

TEST(NvtxName, AutogradNodesAreOperators) {
  EXPECT_TRUE(ParseNvtxName("AddmmBackward0, seq = 3, op_id = 9").is_operator);
  const NvtxName engine =
      ParseNvtxName("autograd::engine::evaluate_function: MulBackward0, op_id = 4");
  EXPECT_TRUE(engine.is_operator);
  EXPECT_EQ(engine.name, "autograd::engine::evaluate_function: MulBackward0");
}

TEST(NvtxName, RecordFunctionRangesLoseTheirKeyAndStayAnnotations) {
  const NvtxName parsed = ParseNvtxName("Optimizer.step#Adam.step, op_id = 41");
  EXPECT_EQ(parsed.name, "Optimizer.step#Adam.step");
  EXPECT_FALSE(parsed.is_operator);
}

TEST(NvtxName, PlainTextIsKeptWhole) {
  for (const char* text : {"step 3", "load, decode, resize", "model::forward", "", ", seq = 3",
                           "retry, seq = many", "a, op_id = ", "x, sizes = none"}) {
    const NvtxName parsed = ParseNvtxName(text);
    EXPECT_EQ(parsed.name, text);
    EXPECT_FALSE(parsed.is_operator) << text;
  }
}

TEST(NvtxName, CommasInTheNameAreNotKeys) {
  const NvtxName parsed = ParseNvtxName("mylib::op<int, float>, seq = 5");
  EXPECT_EQ(parsed.name, "mylib::op<int, float>");
  EXPECT_EQ(parsed.sequence, 5);
}

TEST(NvtxName, SizesThatTheWriterCutOff) {
  EXPECT_EQ(ParseNvtxName("aten::cat, sizes = [[1, 2], [3").sizes, "[[1, 2], [3");
}

}  // namespace
}  // namespace hone::importer::nsys
