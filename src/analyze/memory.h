// SPDX-License-Identifier: Apache-2.0
// Memory from allocator events. docs/user/memory.md.
#pragma once

#include <cstdint>
#include <vector>

#include "analyze/lineage.h"
#include "analyze/steps.h"
#include "base/known.h"
#include "trace/trace.h"

namespace hone::analyze {

struct MemoryPoint {
  Nanos time_ns = 0;
  Bytes allocated = 0;
  Bytes reserved = -1;  // -1: not recorded
};

// What one owner allocated.
struct MemoryUse {
  std::uint64_t allocations = 0;
  Bytes allocated = 0;     // sum of positive sizes
  Bytes live_at_peak = 0;  // of them, not freed at the peak
  // Of them, allocated in a steady step but the last and not freed until the steady steps ended.
  Bytes kept = 0;
};
struct MemoryOpRow : MemoryUse {
  StringId op = StringId::kEmpty;  // operator around the allocation; empty: outside any
};
struct MemoryLineRow : MemoryUse {
  std::string line;  // of the user's code, "train.py(46): main"; empty: not known
};

// What one process did with one device's memory (or with the host's).
struct DeviceMemory {
  trace::MemoryDevice type = trace::MemoryDevice::kGpu;
  int device_id = 0;
  trace::RowId process = trace::kNoRow;
  // No event carries the allocator's total: sizes count from the start of the trace and a peak is
  // "so much above the start".
  bool relative = false;
  Bytes peak_allocated = 0;
  Bytes peak_reserved = -1;  // -1: the allocator keeps no reserve, or does not say
  // Live before the first event, so without an operator. Where totals are not recorded: what was
  // freed without having been seen allocated, a lower bound.
  Bytes allocated_before = 0;
  Nanos peak_time_ns = 0;
  Bytes capacity = -1;  // of the device; -1 unknown
  // 1 − allocated / reserved, at the peak of reserved; of all moments at that peak, the fullest.
  Known<double> fragmentation;
  std::vector<MemoryPoint> timeline;  // thinned to at most 2,000 points that keep every extreme
  std::vector<MemoryOpRow> ops;       // by live_at_peak
  std::vector<MemoryLineRow> lines;   // by live_at_peak; empty: no allocation has a line
  // Allocated at each steady step's end, and the slope through them (bytes a step).
  std::vector<Bytes> at_step_end;
  Known<double> growth_per_step;
  std::uint64_t allocations = 0, frees = 0;
};

struct MemoryFacts {
  std::vector<DeviceMemory> devices;  // GPUs first
};

// Absent when the trace has no allocator events (says whether profile_memory was off).
Known<MemoryFacts> MeasureMemory(const trace::Trace& trace, const Lineage& lineage,
                                 const Steps& steps);

}  // namespace hone::analyze
