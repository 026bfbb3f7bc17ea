// SPDX-License-Identifier: Apache-2.0
// The operators among which attention is looked for, and what part each could be of it.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "replay/edits/recompute.h"
#include "replay/model.h"

namespace hone::replay {

// kLayer: a layer's product of two matrices, no part of attention; values are often projected just
// before they are weighed, behind the softmax.
enum class AttentionRole : std::uint8_t { kOther, kBatched, kSoftmax, kBetween, kLayer };

struct AttentionCall {
  trace::RowId op = trace::kNoRow;
  AttentionRole role = AttentionRole::kOther;
  std::vector<TaskId> work;  // what it launches; on the host nothing
};

// By thread, in call order: operators that launch work. Linear.
std::vector<std::vector<AttentionCall>> LaunchingCalls(const Model& model);
// By thread, in call order: operators of the window that compute where they are called. Views and
// what only wraps others are left out; what is fused already is one call, and so is a node of
// autograd's engine but for what it computes again of the forward pass. Linear.
std::vector<std::vector<AttentionCall>> CallsOnHost(const Model& model, const Recompute& again);

// The operator that multiplies, not those around it.
bool IsBatchedProduct(std::string_view op);
// It, or an operator that is one product once its factors are prepared.
bool IsProduct(std::string_view op);
// That draws which weights go. aten::dropout alone may do nothing (evaluation).
bool DropsOut(std::string_view op);

}  // namespace hone::replay
