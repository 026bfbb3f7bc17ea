// SPDX-License-Identifier: Apache-2.0
// The operators among which attention is looked for, and what part each could be of it.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "replay/model.h"

namespace hone::replay {

enum class AttentionRole : std::uint8_t { kOther, kBatched, kSoftmax, kBetween };

struct AttentionCall {
  trace::RowId op = trace::kNoRow;
  AttentionRole role = AttentionRole::kOther;
  std::vector<TaskId> work;  // what it launches; on the host nothing
};

// By thread, in call order: operators that launch work. Linear.
std::vector<std::vector<AttentionCall>> LaunchingCalls(const Model& model);
// By thread, in call order: operators of the window that compute where they are called. Views and
// what only wraps others are left out; autograd's engine and what is fused already are one call
// each. Linear.
std::vector<std::vector<AttentionCall>> CallsOnHost(const Model& model);

// The operator that multiplies, not those around it.
bool IsBatchedProduct(std::string_view op);
// That draws which weights go. aten::dropout alone may do nothing (evaluation).
bool DropsOut(std::string_view op);

}  // namespace hone::replay
