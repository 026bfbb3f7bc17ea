// SPDX-License-Identifier: Apache-2.0
// The curve of one allocator: what is allocated and reserved after each of its events.
#pragma once

#include <span>
#include <vector>

#include "analyze/memory.h"
#include "trace/trace.h"

namespace hone::analyze {

struct MemorySeries {
  std::vector<MemoryPoint> points;  // one an event
  Bytes before = 0;                 // allocated before the first event; 0 when relative
  bool relative = false;            // no event carries a total
};

// `events`: rows of `memory`, sorted by time. The recorded total is taken where it is given; where
// it is not, the event's size is added to the value before it.
MemorySeries BuildSeries(const trace::MemoryEvents& memory, std::span<const trace::RowId> events);

// Fills peak_reserved and fragmentation.
void AddReserved(std::span<const MemoryPoint> points, DeviceMemory& out);

// At most kMostTimelinePoints: the first and the last, and of each of equal spans of time its
// lowest and highest allocation, its highest reserve and its last point, in order of time.
inline constexpr std::size_t kMostTimelinePoints = 2000;
std::vector<MemoryPoint> Thin(std::span<const MemoryPoint> points);

}  // namespace hone::analyze
