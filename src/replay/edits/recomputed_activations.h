// SPDX-License-Identifier: Apache-2.0
// RecomputedActivations: what activation checkpointing costs the steps, and what doing without it
// would take of memory.
#pragma once

#include <cstdint>
#include <vector>

#include "base/known.h"
#include "base/units.h"
#include "replay/edits/recompute.h"
#include "replay/model.h"

namespace hone::replay {

struct RecomputedActivations {
  std::vector<Recompute::Region> regions;  // of the steps
  std::vector<TaskId> work;                // that they launch, communication aside
  Nanos work_ns = 0, host_ns = 0;          // of all steps
  // What the regions of a step allocate and leave, together. Absent: not recorded.
  Known<Bytes> kept;
  Bytes peak = -1, capacity = -1;  // of the memory that it is in; -1: not known

  // More than may be planned with: of the device's memory the context and libraries want a part,
  // and what is kept is never packed without gaps.
  bool TooMuch() const;
};

// Linear in host slices, n log n in memory events.
RecomputedActivations LookAtRecomputedActivations(const Model& model);

}  // namespace hone::replay
