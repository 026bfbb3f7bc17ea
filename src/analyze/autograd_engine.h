// SPDX-License-Identifier: Apache-2.0
// Names of the slices in which autograd's engine runs the nodes of a backward pass.
#pragma once

#include <string_view>

namespace hone::analyze {

inline bool IsEngineSlice(std::string_view name) { return name.starts_with("autograd::engine"); }

// The node that the slice runs: "AddmmBackward0"; "" for other slices.
inline std::string_view EngineNode(std::string_view name) {
  constexpr std::string_view kSlice = "autograd::engine::evaluate_function: ";
  return name.starts_with(kSlice) ? name.substr(kSlice.size()) : std::string_view();
}

}  // namespace hone::analyze
