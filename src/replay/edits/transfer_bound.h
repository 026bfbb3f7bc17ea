// SPDX-License-Identifier: Apache-2.0
// Copies between host and device that take longer than all that the device computes: however well
// they are hidden, the link sets the pace, and only fewer bytes make the step shorter.
#pragma once

#include <vector>

#include "replay/graph.h"
#include "replay/model.h"

namespace hone::replay {

// What one direction of a device's link carries in the window of the graph.
struct LinkLoad {
  std::uint32_t device = 0;  // row of Trace::devices
  trace::CopyDirection direction = trace::CopyDirection::kHostToDevice;
  std::vector<TaskId> copies;  // in the order in which they run
  double bytes = 0;
  bool pageable = false;  // some of them go through pageable memory
  Nanos busy_ns = 0;      // union of its copies; those of pageable memory as long as out of pinned
  Nanos compute_ns = 0;   // union of the device's kernels and collectives
};

// Those that set the pace, the busiest first: as long as all that their device computes, and at
// least half of the step. A copy through pageable memory on a device whose link is not known counts
// for nothing: it may be slow for another reason. O(n log n).
std::vector<LinkLoad> FindBindingLinks(const Model& model);

}  // namespace hone::replay
