// SPDX-License-Identifier: Apache-2.0
// Attention that is spelled out: a softmax between two batched matmuls, and its backward pass.
#pragma once

#include <vector>

#include "replay/model.h"

namespace hone::replay {

struct Attention {
  std::vector<TaskId> forward, backward;  // device work, in time order
  trace::RowId softmax = trace::kNoRow;   // row of Trace::host
  bool half = false;                      // in fp16 or bf16
};

// By the operators that launch work, in the order in which each thread calls them: a batched
// matmul, a softmax and another batched matmul with nothing but element-wise operators and copies
// between them. Backward work belongs to it by sequence number. Linear.
std::vector<Attention> FindAttention(const Model& model);

}  // namespace hone::replay
