// SPDX-License-Identifier: Apache-2.0
// What torch.autocast would do to a recorded program: which type each operator runs in, and where
// tensors are cast. The operators' lists are those of ATen/autocast_mode.h (torch 2.11).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "replay/model.h"

namespace hone::replay {

enum class AutocastRole : std::uint8_t {
  kHalf,      // products and convolutions: their inputs are cast down
  kFloat,     // softmax, norms, losses, sums, pow: their inputs are cast up
  kPromotes,  // runs in the wider type of its two tensors
  kFollows,   // runs in the type of its tensor
  kFresh,     // makes fp32 from parameters or nothing: embedding
  kNone,      // autocast has no say: lists of tensors, integers
};
// Of the operator that launches work: "aten::addmm".
AutocastRole AutocastRoleOf(std::string_view op);

enum class CallKind : std::uint8_t { kStream, kProduct, kConvolution, kBatchNorm };

// One operator with the work it launches.
struct AutocastCall {
  trace::RowId op = trace::kNoRow;
  std::vector<TaskId> work;  // in launch order
  CallKind kind = CallKind::kStream;
  bool backward = false;
  bool half = false;       // products: runs in 16 bits
  double left = 1;         // streams: of the bytes, what is left
  bool two_types = false;  // streams: one of two tensors is half
  int casts = 0;           // kernels that are added, parameters' and activations'
  int parameters = 0;      // of these
  double cast_ns = 0;      // what casting the activations takes, by the kernels beside it
};

// Operators of the model's own passes in the order of their calls, each followed by type; those of
// the optimizer are left out. A backward operator runs in the type of the forward one that it
// belongs to by sequence number, and casts as often. Types are followed from call to call, since a
// trace does not say which tensor is whose: where two tensors meet, the other one is fp32 once an
// embedding or an fp32 norm was seen in the pass (the residual stream of transformers), else of the
// same type (convolutional networks). Linear.
std::vector<AutocastCall> FollowAutocast(const Model& model);

}  // namespace hone::replay
