// SPDX-License-Identifier: Apache-2.0
// Tables about devices: work, launches, idle gaps, synchronization, communication.
#include <algorithm>
#include <array>

#include "analyze/transfers.h"
#include "export/sql_table_words.h"

namespace hone::exporter {
namespace {

using trace::kNoRow;
using trace::RowId;
using trace::WorkKind;
using Id = SqlTableId;

const trace::DeviceWork& Work(const SqlRank& r) { return r.trace().device; }

const char* WorkKindWord(WorkKind kind) {
  switch (kind) {
    case WorkKind::kKernel: return "kernel";
    case WorkKind::kCopy: return "copy";
    case WorkKind::kSet: return "set";
    case WorkKind::kGraph: return "graph";
  }
  return "kernel";
}

const char* WorkClassWord(analyze::WorkClass work) {
  switch (work) {
    case analyze::WorkClass::kCompute: return "compute";
    case analyze::WorkClass::kCommunication: return "communication";
    case analyze::WorkClass::kCopy: return "copy";
  }
  return "compute";
}

bool IsCopy(const SqlRank& r, RowId i) { return Work(r).kind[i] == WorkKind::kCopy; }

// What a kernel's name tells, in a word; NULL where it tells nothing.
template <typename Read>
SqlValue Trait(const SqlRank& r, RowId i, const Read& read) {
  if (Work(r).kind[i] != WorkKind::kKernel) return {};
  return read(r.TraitsOf(Work(r).name[i]));
}

SqlValue MemoryWord(const SqlRank& r, trace::MemoryKind kind) {
  return kind == trace::MemoryKind::kUnknown ? SqlValue() : r.Text(analyze::MemoryKindName(kind));
}

std::vector<SqlColumn> WorkColumns() {
  return {
      {"ts", kInt, "start, ns on the trace's clock",
       [](const SqlRank& r, RowId i) -> SqlValue { return Work(r).start_ns[i]; }, kSorted},
      {"dur", kInt, "how long, ns",
       [](const SqlRank& r, RowId i) -> SqlValue { return Work(r).duration_ns[i]; }},
      {"name", kText, "kernel, or the kind of copy",
       [](const SqlRank& r, RowId i) { return r.Text(Work(r).name[i]); }, kGroup},
      {"kind", kText, "kernel, copy, set, or graph (a whole CUDA graph recorded as one)",
       [](const SqlRank& r, RowId i) { return r.Text(WorkKindWord(Work(r).kind[i])); }},
      {"class", kText, "compute, communication or copy",
       [](const SqlRank& r, RowId i) { return r.Text(WorkClassWord(r.work_classes()[i])); }},
      {"family", kText, "of kernels: matmul, convolution, attention, elementwise, …, by name",
       [](const SqlRank& r, RowId i) {
         return Trait(r, i, [&](const auto& t) { return r.Text(analyze::FamilyName(t.family)); });
       }},
      {"precision", kText, "of kernels: fp32, tf32, bf16, …; NULL where the name does not tell",
       [](const SqlRank& r, RowId i) {
         return Trait(r, i, [&](const auto& t) {
           return t.precision == analyze::Precision::kUnknown
                      ? SqlValue()
                      : r.Text(analyze::PrecisionName(t.precision));
         });
       }},
      {"stream_id", kInt, "row of stream",
       [](const SqlRank& r, RowId i) { return r.Ref(Id::kStream, Work(r).stream[i]); }, kGroup},
      {"device", kInt, "number of the device",
       [](const SqlRank& r, RowId i) {
         const RowId device = r.trace().streams[Work(r).stream[i]].device;
         return device < r.trace().devices.size() ? FromZero(r.trace().devices[device].id)
                                                  : SqlValue();
       }},
      {"step_id", kInt, "step it starts in, by step.ts and step.dur",
       [](const SqlRank& r, RowId i) { return r.DeviceStep(Work(r).start_ns[i]); }, kGroup},
  };
}

std::vector<SqlColumn> WorkLinks() {
  return {
      {"api_id", kInt, "the call that launched it, row of slice",
       [](const SqlRank& r, RowId i) { return r.Ref(Id::kSlice, Work(r).api[i]); }, kIndex},
      {"op_id", kInt, "innermost operator around the launch, row of slice",
       [](const SqlRank& r, RowId i) { return r.Ref(Id::kSlice, Work(r).op[i]); }, kIndex},
      {"top_op_id", kInt, "outermost operator around the launch",
       [](const SqlRank& r, RowId i) {
         const RowId op = Work(r).op[i];
         return op == kNoRow ? SqlValue() : r.Ref(Id::kSlice, r.lineage().top_op[op]);
       },
       kIndex},
      {"launch_delay", kInt, "from the end of the launching call to the start, ns, at least 0",
       [](const SqlRank& r, RowId i) {
         const RowId api = Work(r).api[i];
         if (api == kNoRow) return SqlValue();
         return SqlValue(std::max<Nanos>(0, Work(r).start_ns[i] - r.trace().host.end_ns(api)));
       }},
      {"correlation", kInt, "what links it to the call",
       [](const SqlRank& r, RowId i) { return NotZero(Work(r).correlation[i]); }, kIndex},
      {"bytes", kInt, "of copies and sets",
       [](const SqlRank& r, RowId i) { return FromZero(Work(r).bytes[i]); }},
      {"direction", kText, "of copies: host to device, device to host, …",
       [](const SqlRank& r, RowId i) {
         return IsCopy(r, i) ? r.Text(analyze::DirectionName(Work(r).direction[i])) : SqlValue();
       }},
      {"source", kText, "of copies: pageable, pinned, device, managed, array",
       [](const SqlRank& r, RowId i) {
         return IsCopy(r, i) ? MemoryWord(r, Work(r).source[i]) : SqlValue();
       }},
      {"target", kText, "of copies and sets, likewise",
       [](const SqlRank& r, RowId i) { return MemoryWord(r, Work(r).target[i]); }},
      {"launch_id", kInt, "geometry, row of launch",
       [](const SqlRank& r, RowId i) { return r.Side(Id::kLaunch, Work(r).launch[i]); }, kGroup},
      {"graph", kInt, "id of the CUDA graph it is part of",
       [](const SqlRank& r, RowId i) {
         return NotZero(r.trace().graph_nodes[Work(r).graph[i]].graph_id);
       }},
      {"graph_node", kInt, "and of the node",
       [](const SqlRank& r, RowId i) {
         return NotZero(r.trace().graph_nodes[Work(r).graph[i]].node_id);
       }},
      {"collective_id", kInt, "row of collective",
       [](const SqlRank& r, RowId i) { return r.Side(Id::kCollective, Work(r).collective[i]); },
       kGroup},
  };
}

SqlTable DeviceWorkTable() {
  std::vector<SqlColumn> columns = WorkColumns();
  const std::vector<SqlColumn> links = WorkLinks();
  columns.insert(columns.end(), links.begin(), links.end());
  return MakeTable<Id::kDeviceWork>(
      "device_work", "kernels, copies and sets: everything that runs on a device, sorted by start",
      [](const SqlRank& r) { return Work(r).size(); }, std::move(columns));
}

const trace::LaunchConfig& LaunchOf(const SqlRank& r, RowId i) { return r.trace().launches[i + 1]; }

template <std::uint32_t (trace::LaunchConfig::*kField)[3], int kAxis>
SqlValue Geometry(const SqlRank& r, RowId i) {
  return NotZero((LaunchOf(r, i).*kField)[kAxis]);
}

SqlValue Measured(float value) { return value < 0 ? SqlValue() : SqlValue(double{value}); }

SqlTable LaunchTable() {
  using trace::LaunchConfig;
  return MakeTable<Id::kLaunch>(
      "launch", "launch geometry of kernels, each combination once",
      [](const SqlRank& r) { return r.trace().launches.size() - 1; },
      {{"grid_x", kInt, "blocks", Geometry<&LaunchConfig::grid, 0>},
       {"grid_y", kInt, "blocks", Geometry<&LaunchConfig::grid, 1>},
       {"grid_z", kInt, "blocks", Geometry<&LaunchConfig::grid, 2>},
       {"block_x", kInt, "threads a block", Geometry<&LaunchConfig::block, 0>},
       {"block_y", kInt, "threads a block", Geometry<&LaunchConfig::block, 1>},
       {"block_z", kInt, "threads a block", Geometry<&LaunchConfig::block, 2>},
       {"registers", kInt, "a thread",
        [](const SqlRank& r, RowId i) { return FromZero(LaunchOf(r, i).registers_per_thread); }},
       {"shared_memory", kInt, "bytes a block",
        [](const SqlRank& r, RowId i) { return FromZero(LaunchOf(r, i).shared_memory_bytes); }},
       {"blocks_per_sm", kReal, "as recorded",
        [](const SqlRank& r, RowId i) { return Measured(LaunchOf(r, i).blocks_per_sm); }},
       {"warps_per_sm", kReal, "as recorded",
        [](const SqlRank& r, RowId i) { return Measured(LaunchOf(r, i).warps_per_sm); }},
       {"occupancy_pct", kReal, "estimated by the recorder",
        [](const SqlRank& r, RowId i) { return Measured(LaunchOf(r, i).occupancy_pct); }}});
}

const analyze::IdleGap& GapOf(const SqlRank& r, RowId i) { return r.facts().idle->gaps[i]; }

SqlTable IdleGapTable() {
  return MakeTable<Id::kIdleGap>(
      "idle_gap", "moments at which the main device has nothing to do, and why (hone help idle)",
      [](const SqlRank& r) {
        return r.facts().idle ? r.facts().idle->gaps.size() : std::size_t{0};
      },
      {{"ts", kInt, "start, ns",
        [](const SqlRank& r, RowId i) -> SqlValue { return GapOf(r, i).span.begin_ns; }, kSorted},
       {"dur", kInt, "how long, ns",
        [](const SqlRank& r, RowId i) -> SqlValue { return GapOf(r, i).span.length(); }},
       {"cause", kText, "waiting-for-data, synchronization, launch, …",
        [](const SqlRank& r, RowId i) { return r.Text(analyze::IdleCauseId(GapOf(r, i).cause)); }},
       {"device_id", kInt, "row of device",
        [](const SqlRank& r, RowId) { return r.Ref(Id::kDevice, r.facts().idle->device); }},
       {"step_id", kInt, "step it starts in",
        [](const SqlRank& r, RowId i) { return r.DeviceStep(GapOf(r, i).span.begin_ns); }, kGroup},
       {"next_work_id", kInt, "work that ends it, row of device_work",
        [](const SqlRank& r, RowId i) { return r.Ref(Id::kDeviceWork, GapOf(r, i).next_work); },
        kIndex},
       {"blamed_id", kInt, "what the host was doing, row of slice",
        [](const SqlRank& r, RowId i) { return r.Ref(Id::kSlice, GapOf(r, i).blamed); }, kIndex}});
}

SqlTable SyncTable() {
  return MakeTable<Id::kSync>(
      "sync", "synchronization as the device records it; calls that block are slices",
      [](const SqlRank& r) { return r.trace().syncs.size(); },
      {{"ts", kInt, "start, ns",
        [](const SqlRank& r, RowId i) -> SqlValue { return r.trace().syncs.start_ns[i]; }},
       {"dur", kInt, "how long, ns",
        [](const SqlRank& r, RowId i) -> SqlValue { return r.trace().syncs.duration_ns[i]; }},
       {"name", kText, "Stream Sync, Event Sync, Stream Wait Event, …",
        [](const SqlRank& r, RowId i) { return r.Text(r.trace().syncs.name[i]); }},
       {"stream_id", kInt, "row of stream; NULL: the whole context",
        [](const SqlRank& r, RowId i) { return r.Ref(Id::kStream, r.trace().syncs.stream[i]); }},
       {"correlation", kInt, "of the call",
        [](const SqlRank& r, RowId i) { return NotZero(r.trace().syncs.correlation[i]); }, kIndex},
       {"wait_on_stream", kInt, "number of the stream that is waited for",
        [](const SqlRank& r, RowId i) { return FromZero(r.trace().syncs.wait_on_stream[i]); }},
       {"event", kInt, "id of the event",
        [](const SqlRank& r, RowId i) { return NotZero(r.trace().syncs.event_id[i]); }}});
}

SqlTable EventRecordTable() {
  return MakeTable<Id::kEventRecord>(
      "event_record", "events as the device recorded them",
      [](const SqlRank& r) { return r.trace().events.size(); },
      {{"ts", kInt, "ns; NULL: not collected",
        [](const SqlRank& r, RowId i) { return NotZero(r.trace().events.time_ns[i]); }},
       {"stream_id", kInt, "row of stream",
        [](const SqlRank& r, RowId i) { return r.Ref(Id::kStream, r.trace().events.stream[i]); }},
       {"correlation", kInt, "of the call",
        [](const SqlRank& r, RowId i) { return NotZero(r.trace().events.correlation[i]); }, kIndex},
       {"event", kInt, "id of the event",
        [](const SqlRank& r, RowId i) { return NotZero(r.trace().events.event_id[i]); }}});
}

const trace::Collective& CollectiveOf(const SqlRank& r, RowId i) {
  return r.trace().collectives[i + 1];
}

SqlTable CollectiveTable() {
  return MakeTable<Id::kCollective>(
      "collective", "collectives as their metadata describes them, each combination once",
      [](const SqlRank& r) { return r.trace().collectives.size() - 1; },
      {{"name", kText, "allreduce, _allgather_base, …",
        [](const SqlRank& r, RowId i) { return r.Text(CollectiveOf(r, i).name); }},
       {"dtype", kText, "type of the elements",
        [](const SqlRank& r, RowId i) { return r.Text(CollectiveOf(r, i).dtype); }},
       {"in_elements", kInt, "elements sent",
        [](const SqlRank& r, RowId i) { return FromZero(CollectiveOf(r, i).in_elements); }},
       {"out_elements", kInt, "elements received",
        [](const SqlRank& r, RowId i) { return FromZero(CollectiveOf(r, i).out_elements); }},
       {"group_size", kInt, "ranks that take part",
        [](const SqlRank& r, RowId i) { return FromZero(CollectiveOf(r, i).group_size); }},
       {"group_name", kText, "process group",
        [](const SqlRank& r, RowId i) { return r.Text(CollectiveOf(r, i).group_name); }},
       {"group_description", kText, "what the group is for",
        [](const SqlRank& r, RowId i) { return r.Text(CollectiveOf(r, i).group_description); }},
       {"sequence", kInt, "number in its group",
        [](const SqlRank& r, RowId i) { return FromZero(CollectiveOf(r, i).sequence); }}});
}

const analyze::CollectiveRun& RunOf(const SqlRank& r, RowId i) { return r.facts().comm->runs[i]; }

SqlTable CollectiveRunTable() {
  return MakeTable<Id::kCollectiveRun>(
      "collective_run", "collectives that ran, sorted by start (hone help comm)",
      [](const SqlRank& r) {
        return r.facts().comm ? r.facts().comm->runs.size() : std::size_t{0};
      },
      {{"ts", kInt, "start, ns on the trace's clock",
        [](const SqlRank& r, RowId i) -> SqlValue {
          return RunOf(r, i).start_ns - r.trace().info.base_time_ns;
        },
        kSorted},
       {"dur", kInt, "how long, ns",
        [](const SqlRank& r, RowId i) -> SqlValue { return RunOf(r, i).duration_ns; }},
       {"kind", kText, "all_reduce, all_gather, …; unknown without metadata",
        [](const SqlRank& r, RowId i) { return r.Text(RunOf(r, i).kind); }},
       {"group_name", kText, "process group",
        [](const SqlRank& r, RowId i) { return r.Text(RunOf(r, i).group); }},
       {"ordinal", kInt, "place in its group by launch",
        [](const SqlRank& r, RowId i) -> SqlValue { return RunOf(r, i).order; }},
       {"sequence", kInt, "recorded number in its group",
        [](const SqlRank& r, RowId i) { return FromZero(RunOf(r, i).sequence); }},
       {"message_bytes", kReal, "as NCCL's tests count it",
        [](const SqlRank& r, RowId i) {
          const auto& bytes = RunOf(r, i).message_bytes;
          return bytes ? SqlValue(*bytes) : SqlValue();
        }},
       {"group_size", kInt, "ranks that take part",
        [](const SqlRank& r, RowId i) { return FromZero(RunOf(r, i).group_size); }},
       {"work_id", kInt, "row of device_work; NULL: it ran on the host",
        [](const SqlRank& r, RowId i) { return r.Ref(Id::kDeviceWork, RunOf(r, i).work); }, kIndex},
       {"step_id", kInt, "step it starts in",
        [](const SqlRank& r, RowId i) {
          return r.DeviceStep(RunOf(r, i).start_ns - r.trace().info.base_time_ns);
        },
        kGroup}});
}

}  // namespace

void AddDeviceTables(std::vector<SqlTable>& tables) {
  tables.push_back(DeviceWorkTable());
  tables.push_back(LaunchTable());
  tables.push_back(IdleGapTable());
  tables.push_back(SyncTable());
  tables.push_back(EventRecordTable());
  tables.push_back(CollectiveTable());
  tables.push_back(CollectiveRunTable());
}

}  // namespace hone::exporter
