// SPDX-License-Identifier: Apache-2.0
// How the ranges begin that PyTorch itself puts around parts of a program. They are annotations,
// whatever a file calls them: counted as operators they would be the host's own work.
#pragma once

#include <string_view>

namespace hone {

inline constexpr std::string_view kProfilerStep = "ProfilerStep#";             // "ProfilerStep#3"
inline constexpr std::string_view kOptimizerStep = "Optimizer.step#";          // "…#Adam.step"
inline constexpr std::string_view kOptimizerZeroGrad = "Optimizer.zero_grad";  // "…#Adam.zero_grad"
inline constexpr std::string_view kDataLoaderNext = "enumerate(DataLoader)";  // "…#….__next__"

inline bool IsTorchScope(std::string_view name) {
  return name.starts_with(kProfilerStep) || name.starts_with(kOptimizerStep) ||
         name.starts_with(kOptimizerZeroGrad) || name.starts_with(kDataLoaderNext);
}

}  // namespace hone
