// SPDX-License-Identifier: Apache-2.0
// Calls of convolutions in which cuDNN tries its algorithms: shared by the edit and the rules.
#pragma once

#include <vector>

#include "replay/model.h"

namespace hone::replay {

struct AlgorithmSearch {
  trace::RowId op = trace::kNoRow;  // the convolution
  std::uint32_t kernels = 0;        // launched inside
  std::uint32_t syncs = 0, allocations = 0;
  // What the same operator does when it does not search: medians over its other calls, or over
  // those of all convolutions. 0 kernels: no call in the window goes without a search.
  std::uint32_t calm_kernels = 0;
  Nanos calm_ns = 0;
};

// In row order. Linear in the trace's rows.
std::vector<AlgorithmSearch> FindSearches(const Model& model);

}  // namespace hone::replay
