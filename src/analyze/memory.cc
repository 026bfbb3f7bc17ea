// SPDX-License-Identifier: Apache-2.0
#include "analyze/memory.h"

#include <algorithm>
#include <string>
#include <vector>

#include "analyze/grouping.h"
#include "analyze/memory_owners.h"
#include "analyze/memory_timeline.h"
#include "trace/record_again.h"

namespace hone::analyze {
namespace {

using trace::kNoRow;
using trace::MemoryDevice;
using trace::MemoryEvents;
using trace::RowId;
using trace::Trace;

// A line through two points always fits; three are the fewest that can disagree with it.
constexpr std::size_t kFewestStepsForGrowth = 3;

// Rows [0, rows) ordered by group; equal groups keep their order. offsets[g] is where g begins.
struct Buckets {
  std::vector<RowId> rows;
  std::vector<std::size_t> offsets;
  std::span<const RowId> operator[](std::size_t group) const {
    return std::span(rows).subspan(offsets[group], offsets[group + 1] - offsets[group]);
  }
};
Buckets CountingSort(std::span<const std::uint32_t> group_of, std::size_t groups) {
  Buckets buckets;
  buckets.offsets.assign(groups + 1, 0);
  for (const std::uint32_t group : group_of) ++buckets.offsets[group + 1];
  for (std::size_t g = 0; g < groups; ++g) buckets.offsets[g + 1] += buckets.offsets[g];
  buckets.rows.resize(group_of.size());
  std::vector<std::size_t> next(buckets.offsets.begin(), buckets.offsets.end() - 1);
  for (RowId i = 0; i < group_of.size(); ++i) buckets.rows[next[group_of[i]]++] = i;
  return buckets;
}

void AddGrowth(std::span<const MemoryPoint> series, Bytes before, const Steps& steps,
               DeviceMemory& out) {
  std::size_t next = 0;
  Bytes allocated = before;
  for (const Step& step : steps.steps) {
    for (; next < series.size() && series[next].time_ns <= step.host_span.end_ns; ++next) {
      allocated = series[next].allocated;
    }
    if (!step.warm_up) out.at_step_end.push_back(allocated);
  }
  const std::size_t n = out.at_step_end.size();
  if (n < kFewestStepsForGrowth) {
    out.growth_per_step =
        Known<double>::Absent("growth needs 3 steady steps, the trace has " + std::to_string(n));
    return;
  }
  // Least squares with x = 0 … n−1: slope = Σ (x − x̄) y / Σ (x − x̄)².
  const double mean_x = static_cast<double>(n - 1) / 2;
  double covariance = 0, variance = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double x = static_cast<double>(i) - mean_x;
    covariance += x * static_cast<double>(out.at_step_end[i]);
    variance += x * x;
  }
  out.growth_per_step = covariance / variance;
}

DeviceMemory MeasureDevice(const Trace& trace, std::span<const RowId> events,
                           const MemoryOwners& owners, const Steps& steps) {
  const MemoryEvents& memory = trace.memory;
  const RowId first = events.front();
  DeviceMemory out;
  out.type = memory.device_type[first];
  out.device_id = memory.device_id[first];
  if (memory.thread[first] < trace.threads.size()) {
    out.process = trace.threads[memory.thread[first]].process;
  }
  if (out.type == MemoryDevice::kGpu) {
    for (const auto& device : trace.devices) {
      if (device.id == out.device_id) out.capacity = device.memory_bytes;
    }
  }
  const MemorySeries series = BuildSeries(memory, events);
  out.relative = series.relative;
  out.allocated_before = series.before;
  out.peak_allocated = series.before;
  out.peak_time_ns = memory.time_ns[first];
  std::size_t peak_index = events.size();
  for (std::size_t i = 0; i < series.points.size(); ++i) {
    if (series.points[i].allocated <= out.peak_allocated) continue;
    out.peak_allocated = series.points[i].allocated;
    out.peak_time_ns = series.points[i].time_ns;
    peak_index = i;
  }
  AddReserved(series.points, out);
  AddOwners(memory, events, owners, peak_index, steps, out);
  AddGrowth(series.points, series.before, steps, out);
  out.timeline = Thin(series.points);
  return out;
}

}  // namespace

Known<MemoryFacts> MeasureMemory(const Trace& trace, const Lineage& lineage, const Steps& steps) {
  const MemoryEvents& memory = trace.memory;
  if (memory.size() == 0) {
    if (trace.info.format == trace::Format::kNsys) {
      return Known<MemoryFacts>::Absent("Nsight Systems records no allocator events of PyTorch");
    }
    if (trace.info.profile_memory == 0) {
      return Known<MemoryFacts>::Absent(trace.info.format == trace::Format::kHone
                                            ? "no allocations were recorded"
                                            : "profile_memory was off");
    }
    return Known<MemoryFacts>::Absent(
        trace.info.profile_memory == 1
            ? "profile_memory was on, but nothing was allocated while recording"
            : std::string("no allocator events in this trace; ") +
                  trace::RecordAgain(trace.info, trace::Lacking::kMemory));
  }
  // Several processes in one file each have their own device 0.
  GroupIndex groups;
  std::vector<std::uint32_t> group_of(memory.size());
  for (RowId i = 0; i < memory.size(); ++i) {
    const RowId process =
        memory.thread[i] < trace.threads.size() ? trace.threads[memory.thread[i]].process : kNoRow;
    const auto device = static_cast<std::uint32_t>(static_cast<std::uint16_t>(memory.device_id[i]));
    group_of[i] = groups.IdOf(
        PairKey(process, static_cast<std::uint32_t>(memory.device_type[i]) << 16 | device));
  }
  const Buckets buckets = CountingSort(group_of, groups.size());
  const MemoryOwners owners = FindOwners(trace, lineage);
  MemoryFacts facts;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    facts.devices.push_back(MeasureDevice(trace, buckets[g], owners, steps));
  }
  const auto rank = [](const DeviceMemory& d) {
    return d.type == MemoryDevice::kGpu ? 0 : d.type == MemoryDevice::kOther ? 1 : 2;
  };
  std::stable_sort(facts.devices.begin(), facts.devices.end(), [&](const auto& a, const auto& b) {
    if (rank(a) != rank(b)) return rank(a) < rank(b);
    return a.device_id < b.device_id;
  });
  return facts;
}

}  // namespace hone::analyze
