// SPDX-License-Identifier: Apache-2.0
// Calls in the steady steps that take memory from the driver or give it back, and why: shared by
// allocator-churn and memory-pressure.
#pragma once

#include <cstdint>

#include "replay/model.h"
#include "trace/trace.h"

namespace hone::doctor {

struct DriverMemory {
  std::uint64_t allocations = 0, frees = 0, host_allocations = 0;  // the last: pinned memory
  Nanos total_ns = 0;                                              // inside these calls
  trace::RowId longest = trace::kNoRow;
  // Frees outside any operator: torch.cuda.empty_cache(), or a tensor's end.
  std::uint64_t frees_outside = 0;
  Nanos frees_outside_ns = 0;
  // Operators that gave memory back and took memory afterwards: the allocator made room for its
  // own request. Searches for cuDNN's algorithms do the same on purpose and are left out.
  std::uint64_t retries = 0;
  Nanos retries_ns = 0;
  trace::RowId retry = trace::kNoRow;  // the longest such operator
};

// Of the window that the replay covers. Linear in the trace's rows.
DriverMemory CountDriverMemory(const replay::Model& model);

}  // namespace hone::doctor
