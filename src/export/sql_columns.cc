// SPDX-License-Identifier: Apache-2.0
#include "export/sql_columns.h"

#include <algorithm>
#include <cstdint>

#include "analyze/forward_index.h"
#include "analyze/grouping.h"
#include "analyze/launches.h"
#include "analyze/loader.h"
#include "analyze/memory_places.h"
#include "analyze/memory_timeline.h"
#include "analyze/slice_times.h"
#include "analyze/syncs.h"

namespace hone::exporter {

using analyze::GroupIndex;
using analyze::Lineage;
using analyze::PairKey;
using trace::kNoRow;
using trace::RowId;
using trace::Trace;

namespace {

// A slice inside one of its own name and kind is not outermost. Rows stand in preorder: what is
// not around the current row is closed for good.
void AddNesting(const Trace& trace, SliceTimes& times) {
  struct Open {
    std::uint32_t depth = 0, thread = UINT32_MAX;
    Nanos covered_to = INT64_MIN;
  };
  const auto& host = trace.host;
  GroupIndex groups;
  std::vector<Open> open_of;
  std::vector<std::pair<RowId, std::uint32_t>> around;  // ancestors and their groups
  times.outermost.assign(host.size(), true);
  times.once_ns.assign(host.size(), 0);
  times.depth.assign(host.size(), 0);
  for (RowId i = 0; i < host.size(); ++i) {
    while (!around.empty() && around.back().first != host.parent[i]) {
      --open_of[around.back().second].depth;
      around.pop_back();
    }
    const std::uint32_t group = groups.IdOf(PairKey(static_cast<std::uint32_t>(host.name[i]),
                                                    static_cast<std::uint32_t>(host.kind[i])));
    if (group == open_of.size()) open_of.emplace_back();
    Open& open = open_of[group];
    if (open.thread != host.thread[i]) {
      open.thread = host.thread[i];
      open.covered_to = INT64_MIN;
    }
    times.depth[i] = static_cast<std::uint32_t>(around.size());
    times.outermost[i] = open.depth == 0;
    const Nanos from = std::max(host.start_ns[i], open.covered_to);
    if (host.end_ns(i) > from) {
      times.once_ns[i] = host.end_ns(i) - from;
      open.covered_to = host.end_ns(i);
    }
    ++open.depth;
    around.emplace_back(i, group);
  }
}

}  // namespace

SliceTimes MakeSliceTimes(const Trace& trace, const Lineage& lineage) {
  SliceTimes times;
  times.self_ns = analyze::SelfTimes(trace);
  times.device_ns = analyze::DeviceTotals(trace, lineage);
  times.device_self_ns.assign(trace.host.size(), 0);
  times.kernels.assign(trace.host.size(), 0);
  const auto& device = trace.device;
  for (RowId i = 0; i < device.size(); ++i) {
    RowId owner = device.op[i];
    // No operator, but an annotation may frame the call (NVTX in Nsight Systems traces).
    if (owner == kNoRow && device.api[i] != kNoRow) owner = lineage.annotation[device.api[i]];
    if (owner == kNoRow) continue;
    times.device_self_ns[owner] =
        analyze::SaturatingAdd(times.device_self_ns[owner], device.duration_ns[i]);
    if (device.kind[i] == trace::WorkKind::kKernel) ++times.kernels[owner];
  }
  AddNesting(trace, times);
  return times;
}

SliceCalls MakeSliceCalls(const Trace& trace, const Lineage& lineage) {
  SliceCalls calls{analyze::ApiCalls(trace), {}, {}, analyze::FindLoaderSlices(trace)};
  calls.launches = analyze::FindLaunches(trace, calls.classes);
  calls.by_profiler = analyze::FindProfilerSyncs(trace, lineage, calls.classes);
  return calls;
}

std::vector<RowId> MakeForward(const Trace& trace) {
  std::vector<RowId> forward(trace.host.size(), kNoRow);
  const analyze::ForwardIndex index(trace);
  for (RowId i = 0; i < trace.host.size(); ++i) {
    if (analyze::IsBackward(trace, i)) forward[i] = index.Find(trace, i);
  }
  return forward;
}

MemoryRows MakeMemoryRows(const Trace& trace, const Lineage& lineage) {
  const auto& memory = trace.memory;
  MemoryRows rows;
  rows.op = analyze::SlicesAroundMemory(trace);
  for (RowId& row : rows.op) row = row == kNoRow ? kNoRow : lineage.op[row];
  rows.owners = analyze::FindOwners(trace, lineage);
  rows.freed_by.assign(memory.size(), kNoRow);
  rows.allocated.assign(memory.size(), 0);
  // Several processes in one file each have their own device 0.
  GroupIndex allocators, blocks;
  std::vector<std::vector<RowId>> events;
  std::vector<RowId> live;  // by block: the allocation, kNoRow when freed
  for (RowId i = 0; i < memory.size(); ++i) {
    const RowId process =
        memory.thread[i] < trace.threads.size() ? trace.threads[memory.thread[i]].process : kNoRow;
    const auto device = static_cast<std::uint32_t>(static_cast<std::uint16_t>(memory.device_id[i]));
    const std::uint32_t allocator = allocators.IdOf(
        PairKey(process, static_cast<std::uint32_t>(memory.device_type[i]) << 16 | device));
    if (allocator == events.size()) events.emplace_back();
    events[allocator].push_back(i);
  }
  for (const std::vector<RowId>& own : events) {
    const analyze::MemorySeries series = analyze::BuildSeries(memory, own);
    blocks = {};
    live.clear();
    for (std::size_t e = 0; e < own.size(); ++e) {
      const RowId row = own[e];
      rows.allocated[row] = series.points[e].allocated;
      const std::uint32_t block = blocks.IdOf(memory.address[row]);
      if (block == live.size()) live.push_back(kNoRow);
      if (memory.bytes[row] < 0 && live[block] != kNoRow) rows.freed_by[live[block]] = row;
      live[block] = memory.bytes[row] > 0 ? row : kNoRow;
    }
  }
  return rows;
}

}  // namespace hone::exporter
