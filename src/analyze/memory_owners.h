// SPDX-License-Identifier: Apache-2.0
// Who allocated: the operator and the line of the user's code that each allocator event belongs to.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "analyze/lineage.h"
#include "analyze/memory.h"
#include "analyze/steps.h"
#include "trace/trace.h"

namespace hone::analyze {

struct MemoryOwners {                       // by row of Trace::memory
  std::vector<StringId> op;                 // name of the innermost operator around it; empty: none
  std::vector<std::uint32_t> line;          // index into lines
  std::vector<std::string_view> lines{""};  // distinct, into the trace's strings; 0: not known
};

// O(events + host rows).
MemoryOwners FindOwners(const trace::Trace& trace, const Lineage& lineage);

// Fills ops, lines, allocations, frees and, where sizes are relative, allocated_before. `events`
// are one device's, in order of time; `peak_index` is the one (in `events`) that reaches the peak;
// events.size(): the peak stood before the first.
void AddOwners(const trace::MemoryEvents& memory, std::span<const trace::RowId> events,
               const MemoryOwners& owners, std::size_t peak_index, const Steps& steps,
               DeviceMemory& out);

}  // namespace hone::analyze
