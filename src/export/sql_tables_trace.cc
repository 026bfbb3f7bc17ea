// SPDX-License-Identifier: Apache-2.0
// Tables about the recording itself: files, losses, processes, threads, devices, steps.
#include <array>

#include "base/loss.h"
#include "export/sql_table_words.h"
#include "trace/record_again.h"

namespace hone::exporter {
namespace {

using analyze::Step;
using trace::RowId;
using trace::Trace;
using Id = SqlTableId;

const trace::TraceInfo& Info(const SqlRank& r) { return r.trace().info; }

SqlTable TraceTable() {
  return MakeTable<Id::kTrace>(
      "trace", "the files that were read, one row each",
      [](const SqlRank&) -> std::size_t { return 1; },
      {{"recorded_rank", kInt, "rank as the file says; NULL where it does not",
        [](const SqlRank& r, RowId) { return FromZero(Info(r).rank); }},
       {"world_size", kInt, "ranks of the job, where the file says",
        [](const SqlRank& r, RowId) { return FromZero(Info(r).world_size); }},
       {"path", kText, "the file", [](const SqlRank& r, RowId) { return r.Text(Info(r).path); }},
       {"format", kText, "kineto, nsys or hone",
        [](const SqlRank& r, RowId) { return r.Text(trace::FormatName(Info(r).format)); }},
       {"recorder", kText, "the program that recorded it",
        [](const SqlRank& r, RowId) { return r.Text(Info(r).recorder); }},
       {"start_ts", kInt, "first start of any event, ns on the trace's clock",
        [](const SqlRank& r, RowId) {
          return r.Hull().first > r.Hull().second ? SqlValue() : SqlValue(r.Hull().first);
        }},
       {"end_ts", kInt, "last end of any event",
        [](const SqlRank& r, RowId) {
          return r.Hull().first > r.Hull().second ? SqlValue() : SqlValue(r.Hull().second);
        }},
       {"base_time", kInt, "add it to ts for ns since 1970; 0: ts is that already, or unknown",
        [](const SqlRank& r, RowId) -> SqlValue { return Info(r).base_time_ns; }},
       {"events", kInt, "records in the file",
        [](const SqlRank& r, RowId) -> SqlValue {
          return static_cast<std::int64_t>(Info(r).events_seen);
        }},
       {"calls", kInt, "API calls in it; 0: launches and waits of the host are not known",
        [](const SqlRank& r, RowId) -> SqlValue {
          return static_cast<std::int64_t>(r.facts().trust.present.api_calls);
        }},
       {"work", kInt, "pieces of device work in it",
        [](const SqlRank& r, RowId) -> SqlValue {
          return static_cast<std::int64_t>(r.trace().device.size());
        }},
       {"fetches", kInt, "times that the program waits for a batch; NULL: no loader is in it",
        [](const SqlRank& r, RowId) {
          const auto& loader = r.facts().loader;
          return loader ? SqlValue(static_cast<std::int64_t>(loader->fetches)) : SqlValue();
        }},
       {"trust", kText, "good, partial or poor (hone help trust)",
        [](const SqlRank& r, RowId) {
          return r.Text(analyze::VerdictName(r.facts().trust.verdict));
        }},
       {"step_source", kText, "how steps were found (hone help steps)",
        [](const SqlRank& r, RowId) {
          return r.Text(analyze::StepSourceName(r.facts().steps.source));
        }}});
}

const analyze::LossRow& LossOf(const SqlRank& r, RowId i) { return r.facts().trust.losses[i]; }

SqlTable LossTable() {
  return MakeTable<Id::kLoss>(
      "loss", "what is missing, damaged or doubtful in the trace",
      [](const SqlRank& r) { return r.facts().trust.losses.size(); },
      {{"kind", kText, "what kind, in a word that stays",
        [](const SqlRank& r, RowId i) { return r.Text(Describe(LossOf(r, i).kind).id); }},
       {"severity", kText, "info, data-loss or error",
        [](const SqlRank& r, RowId i) {
          return r.Text(SeverityName(Describe(LossOf(r, i).kind).severity));
        }},
       {"count", kInt, "how often",
        [](const SqlRank& r, RowId i) -> SqlValue {
          return static_cast<std::int64_t>(LossOf(r, i).count);
        }},
       {"time_share", kReal, "part of the device's time that is affected, 0 to 1",
        [](const SqlRank& r, RowId i) {
          const auto& share = LossOf(r, i).time_share;
          return share ? SqlValue(*share) : SqlValue();
        }},
       {"what", kText, "in words",
        [](const SqlRank& r, RowId i) { return r.Text(Describe(LossOf(r, i).kind).what); }},
       {"help", kText, "the way out",
        [](const SqlRank& r, RowId i) {
          return r.Text(trace::LossHelp(r.trace().info, LossOf(r, i).kind));
        }},
       {"first", kText, "the first occurrence",
        [](const SqlRank& r, RowId i) { return r.Text(LossOf(r, i).detail); }}});
}

SqlTable ProcessTable() {
  return MakeTable<Id::kProcess>(
      "process", "processes in the trace",
      [](const SqlRank& r) { return r.trace().processes.size(); },
      {{"pid", kInt, "process id; NULL where the file has a text instead",
        [](const SqlRank& r, RowId i) { return FromZero(r.trace().processes[i].pid); }},
       {"name", kText, "its name",
        [](const SqlRank& r, RowId i) { return r.Text(r.trace().processes[i].name); }}});
}

SqlTable ThreadTable() {
  return MakeTable<Id::kThread>(
      "thread", "host threads", [](const SqlRank& r) { return r.trace().threads.size(); },
      {{"process_id", kInt, "process",
        [](const SqlRank& r, RowId i) {
          return r.Ref(Id::kProcess, r.trace().threads[i].process);
        }},
       {"tid", kInt, "thread id of the system",
        [](const SqlRank& r, RowId i) { return FromZero(r.trace().threads[i].tid); }},
       {"name", kText, "its name",
        [](const SqlRank& r, RowId i) { return r.Text(r.trace().threads[i].name); }},
       {"slices", kInt, "rows of slice on this thread", [](const SqlRank& r, RowId i) -> SqlValue {
          const trace::Thread& thread = r.trace().threads[i];
          return std::int64_t{thread.last_slice} - thread.first_slice;
        }}});
}

SqlTable DeviceTable() {
  return MakeTable<Id::kDevice>(
      "device", "GPUs and other devices", [](const SqlRank& r) { return r.trace().devices.size(); },
      {{"device", kInt, "its number",
        [](const SqlRank& r, RowId i) { return FromZero(r.trace().devices[i].id); }},
       {"name", kText, "model",
        [](const SqlRank& r, RowId i) { return r.Text(r.trace().devices[i].name); }},
       {"memory_bytes", kInt, "its memory",
        [](const SqlRank& r, RowId i) { return FromZero(r.trace().devices[i].memory_bytes); }},
       {"compute_major", kInt, "compute capability, major",
        [](const SqlRank& r, RowId i) { return FromZero(r.trace().devices[i].compute_major); }},
       {"compute_minor", kInt, "compute capability, minor",
        [](const SqlRank& r, RowId i) { return FromZero(r.trace().devices[i].compute_minor); }},
       {"sm_count", kInt, "multiprocessors",
        [](const SqlRank& r, RowId i) { return FromZero(r.trace().devices[i].sm_count); }}});
}

SqlTable StreamTable() {
  return MakeTable<Id::kStream>(
      "stream", "streams of devices", [](const SqlRank& r) { return r.trace().streams.size(); },
      {{"device_id", kInt, "row of device",
        [](const SqlRank& r, RowId i) { return r.Ref(Id::kDevice, r.trace().streams[i].device); }},
       {"process_id", kInt, "process that made it, where the format says so",
        [](const SqlRank& r, RowId i) {
          return r.Ref(Id::kProcess, r.trace().streams[i].process);
        }},
       {"stream", kInt, "its number",
        [](const SqlRank& r, RowId i) { return FromZero(r.trace().streams[i].id); }}});
}

SqlTable ProcessGroupTable() {
  return MakeTable<Id::kProcessGroup>(
      "process_group", "process groups of torch.distributed",
      [](const SqlRank& r) { return r.trace().process_groups.size(); },
      {{"name", kText, "its name",
        [](const SqlRank& r, RowId i) { return r.Text(r.trace().process_groups[i].name); }},
       {"description", kText, "what it is for",
        [](const SqlRank& r, RowId i) { return r.Text(r.trace().process_groups[i].description); }},
       {"backend", kText, "nccl, gloo, …",
        [](const SqlRank& r, RowId i) { return r.Text(r.trace().process_groups[i].backend); }},
       {"size", kInt, "ranks in it",
        [](const SqlRank& r, RowId i) { return FromZero(r.trace().process_groups[i].size); }}});
}

const Step& StepOf(const SqlRank& r, RowId i) { return r.facts().steps.steps[i]; }

// Where the time of a step went on the main device.
template <Nanos analyze::TimelineSplit::*kPart>
SqlValue PartOfStep(const SqlRank& r, RowId i) {
  const auto& timeline = r.facts().timeline;
  if (!timeline) return {};
  return analyze::SplitWindow(timeline->main_device(), StepOf(r, i).span).*kPart;
}

SqlTable StepTable() {
  return MakeTable<Id::kStep>(
      "step", "steps of the program (hone help steps); device times are of the main device",
      [](const SqlRank& r) { return r.facts().steps.steps.size(); },
      {{"number", kInt, "its number",
        [](const SqlRank& r, RowId i) { return FromZero(StepOf(r, i).number); }},
       {"name", kText, "as it is marked",
        [](const SqlRank& r, RowId i) { return r.Text(StepOf(r, i).name); }},
       {"ts", kInt, "start, ns",
        [](const SqlRank& r, RowId i) -> SqlValue { return StepOf(r, i).span.begin_ns; }, kSorted},
       {"dur", kInt, "how long it takes, ns",
        [](const SqlRank& r, RowId i) -> SqlValue { return StepOf(r, i).span.length(); }},
       {"host_ts", kInt, "start as the host marked it",
        [](const SqlRank& r, RowId i) -> SqlValue { return StepOf(r, i).host_span.begin_ns; }},
       {"host_dur", kInt, "duration as the host marked it",
        [](const SqlRank& r, RowId i) -> SqlValue { return StepOf(r, i).host_span.length(); }},
       {"warm_up", kInt, "1: left out of steady figures",
        [](const SqlRank& r, RowId i) { return Flag(StepOf(r, i).warm_up); }},
       {"busy_dur", kInt, "device busy, ns", PartOfStep<&analyze::TimelineSplit::busy_ns>},
       {"compute_dur", kInt, "device computing", PartOfStep<&analyze::TimelineSplit::compute_ns>},
       {"exposed_comm_dur", kInt, "communication that no compute hides",
        PartOfStep<&analyze::TimelineSplit::exposed_comm_ns>},
       {"exposed_copy_dur", kInt, "copies that nothing hides",
        PartOfStep<&analyze::TimelineSplit::exposed_copy_ns>},
       {"idle_dur", kInt, "device idle", PartOfStep<&analyze::TimelineSplit::idle_ns>}});
}

}  // namespace

void AddTraceTables(std::vector<SqlTable>& tables) {
  tables.push_back(TraceTable());
  tables.push_back(LossTable());
  tables.push_back(ProcessTable());
  tables.push_back(ThreadTable());
  tables.push_back(DeviceTable());
  tables.push_back(StreamTable());
  tables.push_back(ProcessGroupTable());
  tables.push_back(StepTable());
}

}  // namespace hone::exporter
