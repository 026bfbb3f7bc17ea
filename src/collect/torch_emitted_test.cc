// SPDX-License-Identifier: Apache-2.0
#include "collect/torch_emitted.h"

#include <gtest/gtest.h>

namespace hone::collect {
namespace {

using wire::HostKind;

// Texts as torch 2.x writes them (torch/csrc/profiler/util.cpp, getNvtxStr).
TEST(TorchEmitted, NamesOfEmitNvtx) {
  const EmittedName mul =
      ParseEmitted("aten::mul, seq = 3, op_id = 12, sizes = [[3, 5], []], input_op_ids = [(7,0)]");
  EXPECT_EQ(mul.name, "aten::mul");
  EXPECT_EQ(mul.sequence, 3);
  EXPECT_TRUE(mul.by_torch);
  EXPECT_EQ(mul.kind, HostKind::kOp);
  const EmittedName empty = ParseEmitted("aten::empty, op_id = 5");
  EXPECT_EQ(empty.name, "aten::empty");
  EXPECT_EQ(empty.sequence, -1);
  EXPECT_TRUE(empty.by_torch);
}

TEST(TorchEmitted, RangesOfTheProgramStayRanges) {
  const EmittedName own = ParseEmitted("my step, with a comma, op_ids = 3");
  EXPECT_FALSE(own.by_torch);
  EXPECT_EQ(own.name, "my step, with a comma, op_ids = 3");
  EXPECT_FALSE(ParseEmitted("").by_torch);
  EXPECT_EQ(ParseEmitted("aten::mul, seq = ").sequence, -1);  // torn
}

TEST(TorchEmitted, KindsByName) {
  EXPECT_EQ(ParseEmitted("AddmmBackward0").kind, HostKind::kBackward);
  EXPECT_EQ(ParseEmitted("torch::autograd::AccumulateGrad").kind, HostKind::kBackward);
  EXPECT_EQ(ParseEmitted("autograd::engine::evaluate_function: MulBackward0").kind, HostKind::kOp);
  EXPECT_EQ(ParseEmitted("detach").kind, HostKind::kOp);
  EXPECT_EQ(ParseEmitted("Optimizer.step#Adam.step").kind, HostKind::kUser);
  EXPECT_EQ(ParseEmitted("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__").kind,
            HostKind::kUser);
  EXPECT_EQ(ParseEmitted("123").kind, HostKind::kUser);
}

}  // namespace
}  // namespace hone::collect
