// SPDX-License-Identifier: Apache-2.0
// Tables of moments: allocations, counters, stack samples, instants, arrows.
#include "export/sql_table_words.h"

namespace hone::exporter {
namespace {

using trace::RowId;
using Id = SqlTableId;

const trace::MemoryEvents& Memory(const SqlRank& r) { return r.trace().memory; }

const char* MemoryDeviceWord(trace::MemoryDevice type) {
  switch (type) {
    case trace::MemoryDevice::kHost: return "host";
    case trace::MemoryDevice::kGpu: return "gpu";
    case trace::MemoryDevice::kOther: return "other";
  }
  return "other";
}

SqlTable MemoryTable() {
  return MakeTable<Id::kMemory>(
      "memory", "allocations and frees, sorted by time (hone help memory)",
      [](const SqlRank& r) { return Memory(r).size(); },
      {{"ts", kInt, "moment, ns",
        [](const SqlRank& r, RowId i) -> SqlValue { return Memory(r).time_ns[i]; }, kSorted},
       {"bytes", kInt, "size; negative: freed",
        [](const SqlRank& r, RowId i) -> SqlValue { return Memory(r).bytes[i]; }},
       {"device_type", kText, "gpu, host or other",
        [](const SqlRank& r, RowId i) {
          return r.Text(MemoryDeviceWord(Memory(r).device_type[i]));
        }},
       {"device", kInt, "number of the device; NULL: the host",
        [](const SqlRank& r, RowId i) { return FromZero(Memory(r).device_id[i]); }},
       {"address", kInt, "where",
        [](const SqlRank& r, RowId i) {
          return NotZero(static_cast<std::int64_t>(Memory(r).address[i]));
        },
        kIndex},
       {"allocated", kInt,
        "allocated after the event; above the start where the trace has no totals",
        [](const SqlRank& r, RowId i) -> SqlValue { return r.memory().allocated[i]; }},
       {"total_allocated", kInt, "the same as the allocator says it",
        [](const SqlRank& r, RowId i) { return FromZero(Memory(r).total_allocated[i]); }},
       {"total_reserved", kInt, "held by the allocator after the event",
        [](const SqlRank& r, RowId i) { return FromZero(Memory(r).total_reserved[i]); }},
       {"freed_by_id", kInt, "of allocations: the row that frees it; NULL: lives to the end",
        [](const SqlRank& r, RowId i) { return r.Ref(Id::kMemory, r.memory().freed_by[i]); },
        kIndex},
       {"op_id", kInt, "operator around it, row of slice",
        [](const SqlRank& r, RowId i) { return r.Ref(Id::kSlice, r.memory().op[i]); }, kIndex},
       {"call_site", kText, "the user's line that allocates or frees, where it is known",
        [](const SqlRank& r, RowId i) {
          const analyze::MemoryOwners& owners = r.memory().owners;
          return r.Text(owners.lines[owners.line[i]]);
        }},
       {"frame_id", kInt, "frame that called for it, where it was recorded, row of frame",
        [](const SqlRank& r, RowId i) { return r.Side(Id::kFrame, Memory(r).frame[i]); }, kGroup},
       {"thread_id", kInt, "row of thread",
        [](const SqlRank& r, RowId i) { return r.Ref(Id::kThread, Memory(r).thread[i]); }, kGroup},
       {"step_id", kInt, "step it falls into, as the host marked it",
        [](const SqlRank& r, RowId i) { return r.HostStep(Memory(r).time_ns[i]); }, kGroup}});
}

SqlTable CounterTable() {
  return MakeTable<Id::kCounter>(
      "counter", "counters over time: utilization, power, clocks, host load",
      [](const SqlRank& r) { return r.trace().counters.size(); },
      {{"ts", kInt, "moment, ns",
        [](const SqlRank& r, RowId i) -> SqlValue { return r.trace().counters.time_ns[i]; }},
       {"track", kText, "what is counted",
        [](const SqlRank& r, RowId i) { return r.Text(r.trace().counters.track[i]); }, kGroup},
       {"series", kText, "which of several values",
        [](const SqlRank& r, RowId i) { return r.Text(r.trace().counters.series[i]); }},
       {"value", kReal, "the value",
        [](const SqlRank& r, RowId i) -> SqlValue { return r.trace().counters.value[i]; }}});
}

const trace::StackSamples& Samples(const SqlRank& r) { return r.trace().samples; }

SqlTable SampleTable() {
  return MakeTable<Id::kSample>(
      "sample", "moments at which the recorder looked where a thread was, sorted by time",
      [](const SqlRank& r) { return Samples(r).size(); },
      {{"ts", kInt, "moment, ns",
        [](const SqlRank& r, RowId i) -> SqlValue { return Samples(r).time_ns[i]; }, kSorted},
       {"dur", kInt, "time it stands for, ns",
        [](const SqlRank& r, RowId i) -> SqlValue { return Samples(r).period_ns[i]; }},
       {"thread_id", kInt, "row of thread",
        [](const SqlRank& r, RowId i) { return r.Ref(Id::kThread, Samples(r).thread[i]); }, kGroup},
       {"frame_id", kInt, "innermost frame, row of frame",
        [](const SqlRank& r, RowId i) { return r.Side(Id::kFrame, Samples(r).frame[i]); }, kIndex},
       {"state", kText, "running or waiting; NULL: unknown",
        [](const SqlRank& r, RowId i) {
          const trace::ThreadState state = Samples(r).state[i];
          return state == trace::ThreadState::kUnknown   ? SqlValue()
                 : state == trace::ThreadState::kRunning ? r.Text("running")
                                                         : r.Text("waiting");
        }},
       {"step_id", kInt, "step it falls into, as the host marked it",
        [](const SqlRank& r, RowId i) { return r.HostStep(Samples(r).time_ns[i]); }, kGroup}});
}

analyze::SourceFrame PlaceOf(const SqlRank& r, RowId i) {
  return analyze::ParseFrame(r.trace().strings[r.trace().stack_frames.place[i + 1]]);
}

SqlTable FrameTable() {
  return MakeTable<Id::kFrame>(
      "frame", "call stacks as a tree: a line of a function, called from caller_id",
      [](const SqlRank& r) { return r.trace().stack_frames.size() - 1; },
      {{"caller_id", kInt, "frame that called it; NULL: outermost",
        [](const SqlRank& r, RowId i) {
          return r.Side(Id::kFrame, r.trace().stack_frames.caller[i + 1]);
        },
        kIndex},
       {"function", kText, "with the line of its definition",
        [](const SqlRank& r, RowId i) { return r.Text(r.trace().stack_frames.function[i + 1]); }},
       {"place", kText, "with the line that ran",
        [](const SqlRank& r, RowId i) { return r.Text(r.trace().stack_frames.place[i + 1]); }},
       {"file", kText, "of the place",
        [](const SqlRank& r, RowId i) { return r.Text(PlaceOf(r, i).file); }},
       {"line", kInt, "of the place",
        [](const SqlRank& r, RowId i) { return NotZero(PlaceOf(r, i).line); }}});
}

// Functions first, then lines.
const analyze::PythonRow& PythonOf(const SqlRank& r, RowId i) {
  const analyze::PythonFacts& facts = *r.facts().python;
  return i < facts.functions.size() ? facts.functions[i] : facts.lines[i - facts.functions.size()];
}

SqlTable PythonTimeTable() {
  return MakeTable<Id::kPythonTime>(
      "python_time", "time by Python function and by line (hone help python)",
      [](const SqlRank& r) {
        const auto& python = r.facts().python;
        return python ? python->functions.size() + python->lines.size() : std::size_t{0};
      },
      {{"what", kText, "function or line",
        [](const SqlRank& r, RowId i) {
          return r.Text(i < r.facts().python->functions.size() ? "function" : "line");
        }},
       {"name", kText, "as recorded: train.py(46): main; of objects without their address",
        [](const SqlRank& r, RowId i) { return r.Text(PythonOf(r, i).name); }},
       {"file", kText, "of the name",
        [](const SqlRank& r, RowId i) {
          return r.Text(analyze::ParseFrame(PythonOf(r, i).name).file);
        }},
       {"line", kInt, "of the name",
        [](const SqlRank& r, RowId i) {
          return NotZero(analyze::ParseFrame(PythonOf(r, i).name).line);
        }},
       {"calls", kInt, "calls; of samples: those with it on the stack",
        [](const SqlRank& r, RowId i) -> SqlValue {
          return static_cast<std::int64_t>(PythonOf(r, i).calls);
        }},
       {"dur", kInt, "with what it calls, ns",
        [](const SqlRank& r, RowId i) -> SqlValue { return PythonOf(r, i).total_ns; }},
       {"self_dur", kInt, "without, ns",
        [](const SqlRank& r, RowId i) -> SqlValue { return PythonOf(r, i).self_ns; }},
       {"error_dur", kInt, "of samples: one standard deviation of self_dur",
        [](const SqlRank& r, RowId i) {
          return r.facts().python->sampled ? SqlValue(PythonOf(r, i).error_ns) : SqlValue();
        }},
       {"device_dur", kInt, "device work launched inside, ns", [](const SqlRank& r, RowId i) {
          return r.trace().device.size() == 0 ? SqlValue() : SqlValue(PythonOf(r, i).device_ns);
        }}});
}

SqlTable InstantTable() {
  return MakeTable<Id::kInstant>(
      "instant", "marks without a length",
      [](const SqlRank& r) { return r.trace().instants.size(); },
      {{"ts", kInt, "moment, ns",
        [](const SqlRank& r, RowId i) -> SqlValue { return r.trace().instants.time_ns[i]; }},
       {"name", kText, "the mark",
        [](const SqlRank& r, RowId i) { return r.Text(r.trace().instants.name[i]); }},
       {"thread_id", kInt, "row of thread; NULL: the whole trace", [](const SqlRank& r, RowId i) {
          return r.Ref(Id::kThread, r.trace().instants.thread[i]);
        }}});
}

SqlTable FlowTable() {
  return MakeTable<Id::kFlow>(
      "flow", "ends of the recorder's arrows from forward to backward operators",
      [](const SqlRank& r) { return r.trace().flows.size(); },
      {{"ts", kInt, "moment, ns",
        [](const SqlRank& r, RowId i) -> SqlValue { return r.trace().flows.time_ns[i]; }},
       {"flow", kInt, "number of the arrow",
        [](const SqlRank& r, RowId i) -> SqlValue { return r.trace().flows.id[i]; }, kIndex},
       {"finish", kInt, "0: it starts here, 1: it ends here",
        [](const SqlRank& r, RowId i) -> SqlValue {
          return std::int64_t{r.trace().flows.finish[i]};
        }},
       {"thread_id", kInt, "row of thread",
        [](const SqlRank& r, RowId i) { return r.Ref(Id::kThread, r.trace().flows.thread[i]); }}});
}

SqlTable DeviceAnnotationTable() {
  return MakeTable<Id::kDeviceAnnotation>(
      "device_annotation", "annotations as the device side sees them",
      [](const SqlRank& r) { return r.trace().device_annotations.size(); },
      {{"ts", kInt, "start, ns",
        [](const SqlRank& r, RowId i) -> SqlValue {
          return r.trace().device_annotations.start_ns[i];
        }},
       {"dur", kInt, "how long, ns",
        [](const SqlRank& r, RowId i) -> SqlValue {
          return r.trace().device_annotations.duration_ns[i];
        }},
       {"name", kText, "the annotation",
        [](const SqlRank& r, RowId i) { return r.Text(r.trace().device_annotations.name[i]); }},
       {"stream_id", kInt, "row of stream", [](const SqlRank& r, RowId i) {
          return r.Ref(Id::kStream, r.trace().device_annotations.stream[i]);
        }}});
}

}  // namespace

void AddSampleTables(std::vector<SqlTable>& tables) {
  tables.push_back(MemoryTable());
  tables.push_back(CounterTable());
  tables.push_back(SampleTable());
  tables.push_back(FrameTable());
  tables.push_back(PythonTimeTable());
  tables.push_back(InstantTable());
  tables.push_back(FlowTable());
  tables.push_back(DeviceAnnotationTable());
}

}  // namespace hone::exporter
