// SPDX-License-Identifier: Apache-2.0
// Kernels of optimizers, by the names that PyTorch gives them.
#pragma once

#include <string_view>

namespace hone::replay {

// foreach=True and fused=True launch for many parameters at once.
inline bool ServesManyParameters(std::string_view kernel) {
  return kernel.find("multi_tensor_apply") != std::string_view::npos;
}

// fused=True: one kernel takes all steps of the update.
inline bool IsFusedOptimizer(std::string_view kernel) {
  return kernel.find("Fused") != std::string_view::npos;
}

}  // namespace hone::replay
