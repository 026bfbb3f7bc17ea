// SPDX-License-Identifier: Apache-2.0
// The critical path by name: which kernels, calls and operators it runs through.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "replay/critical_path.h"
#include "replay/model.h"

namespace hone::replay {

struct PathPart {
  PathKind kind = PathKind::kHost;
  std::string name;  // a kernel, a call, an outermost operator, or words for what has no name
  Nanos total_ns = 0;
  std::uint64_t count = 0;  // stretches of the path
};

// Parts sum to path.length_ns; largest first. Host code is told by the outermost operators around
// it. Linear in the path and the host rows of the window.
std::vector<PathPart> GroupPath(const Model& model, const CriticalPath& path);

}  // namespace hone::replay
