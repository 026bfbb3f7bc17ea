// SPDX-License-Identifier: Apache-2.0
#include "analyze/memory_timeline.h"

#include <algorithm>
#include <array>

#include "analyze/grouping.h"

namespace hone::analyze {

MemorySeries BuildSeries(const trace::MemoryEvents& memory, std::span<const trace::RowId> events) {
  MemorySeries series;
  // The first recorded total, walked back over the events before it, is the base of them all.
  Bytes moved = 0;
  series.relative = true;
  for (const trace::RowId event : events) {
    moved = std::max(SaturatingAdd(moved, memory.bytes[event]), -INT64_MAX);
    if (memory.total_allocated[event] < 0) continue;
    series.relative = false;
    series.before = std::max<Bytes>(0, SaturatingAdd(memory.total_allocated[event], -moved));
    break;
  }
  series.points.reserve(events.size());
  Bytes allocated = series.before;
  for (const trace::RowId event : events) {
    const Bytes total = memory.total_allocated[event];
    allocated = total >= 0 ? total : SaturatingAdd(allocated, memory.bytes[event]);
    series.points.push_back({memory.time_ns[event], allocated, memory.total_reserved[event]});
  }
  return series;
}

void AddReserved(std::span<const MemoryPoint> points, DeviceMemory& out) {
  Bytes peak = 0, fullest = 0;
  for (const MemoryPoint& point : points) {
    if (point.reserved > peak) {
      peak = point.reserved;
      fullest = point.allocated;
    } else if (point.reserved == peak) {
      fullest = std::max(fullest, point.allocated);
    }
  }
  // PyTorch writes 0 for allocators that keep no reserve (the host's).
  if (peak <= 0) {
    out.fragmentation = Known<double>::Absent("the allocator reports no reserved memory");
    return;
  }
  out.peak_reserved = peak;
  if (out.relative) {
    out.fragmentation = Known<double>::Absent("allocated memory is known from the start on only");
    return;
  }
  const double used = static_cast<double>(fullest) / static_cast<double>(peak);
  out.fragmentation = std::clamp(1 - used, 0.0, 1.0);
}

std::vector<MemoryPoint> Thin(std::span<const MemoryPoint> points) {
  if (points.size() <= kMostTimelinePoints) return {points.begin(), points.end()};
  constexpr std::size_t kKept = 4;  // points a bucket
  constexpr std::size_t kBuckets = (kMostTimelinePoints - 2) / kKept;
  const auto begin = static_cast<double>(points.front().time_ns);
  const double span = std::max(1.0, static_cast<double>(points.back().time_ns) - begin);
  const auto bucket_of = [&](const MemoryPoint& point) {
    const double part = (static_cast<double>(point.time_ns) - begin) / span;
    return std::min(kBuckets - 1, static_cast<std::size_t>(part * kBuckets));
  };
  std::vector<MemoryPoint> thin = {points.front()};
  const std::size_t last = points.size() - 1;
  for (std::size_t i = 1; i < last;) {
    std::array<std::size_t, kKept> keep = {i, i, i, i};  // low, high, most reserved, last
    for (const std::size_t bucket = bucket_of(points[i]);
         i < last && bucket_of(points[i]) == bucket; ++i) {
      if (points[i].allocated < points[keep[0]].allocated) keep[0] = i;
      if (points[i].allocated > points[keep[1]].allocated) keep[1] = i;
      if (points[i].reserved > points[keep[2]].reserved) keep[2] = i;
      keep[3] = i;
    }
    std::sort(keep.begin(), keep.end());
    for (std::size_t k = 0; k < kKept; ++k) {
      if (k == 0 || keep[k] != keep[k - 1]) thin.push_back(points[keep[k]]);
    }
  }
  thin.push_back(points.back());
  return thin;
}

}  // namespace hone::analyze
