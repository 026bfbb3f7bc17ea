// SPDX-License-Identifier: Apache-2.0
// Attention that is spelled out: a softmax between two batched matmuls, and its backward pass.
#pragma once

#include <cstdint>
#include <vector>

#include "replay/model.h"
#include "trace/interval.h"

namespace hone::replay {

struct Attention {
  // A stretch of one thread's time in which nothing but its operators runs, and the Python between.
  struct Stretch {
    std::uint16_t lane = 0;
    trace::Interval span;
    Nanos products_ns = 0;  // of it, the batched products' own
  };
  std::vector<TaskId> forward, backward;  // device work, in time order
  std::vector<Stretch> forward_host, backward_host;
  trace::RowId softmax = trace::kNoRow;  // row of Trace::host
  bool half = false;                     // in fp16 or bf16
  bool masked = false;                   // scores are written over before the softmax
  bool dropout = false;                  // some weights are dropped after it
  bool on_host = false;                  // no device: the operators compute where they are called
};

// By the operators that launch work (without a device: that compute), in the order in which each
// thread calls them: a batched
// matmul, a softmax and another batched matmul with nothing but element-wise operators and copies
// between them. Backward work belongs to it by sequence number. Linear.
std::vector<Attention> FindAttention(const Model& model);

}  // namespace hone::replay
