// SPDX-License-Identifier: Apache-2.0
#include "export/chrome_rank.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace hone::exporter {

using trace::RowId;
using trace::SliceKind;
using trace::WorkKind;

namespace {

// Kineto parks synchronizations of stream N at N + 1,000,000; what else cannot stand on a stream's
// own track goes further out.
constexpr std::int64_t kSyncTrack = 1'000'000, kOverlapTrack = 2'000'000;
constexpr std::int64_t kNoContextStream = -1;

std::string_view HostCategory(SliceKind kind, std::string_view name) {
  switch (kind) {
    case SliceKind::kOp: return "cpu_op";
    case SliceKind::kAnnotation: return "user_annotation";
    case SliceKind::kApi: {
      // cuLaunchKernel is the driver's, cudaLaunchKernel the runtime's.
      const bool driver =
          name.size() > 2 && name.starts_with("cu") && name[2] >= 'A' && name[2] <= 'Z';
      return driver ? "cuda_driver" : "cuda_runtime";
    }
    case SliceKind::kPython: return "python_function";
    case SliceKind::kOs: return "os_runtime";
    case SliceKind::kOverhead: return "overhead";
    case SliceKind::kGraphNode: return "cuda_graph_node";
    case SliceKind::kOther: break;
  }
  return "other";
}

std::string_view WorkCategory(WorkKind kind) {
  switch (kind) {
    case WorkKind::kCopy: return "gpu_memcpy";
    case WorkKind::kSet: return "gpu_memset";
    case WorkKind::kGraph: return "gpu_graph";
    case WorkKind::kKernel: break;
  }
  return "kernel";
}

}  // namespace

ChromeRank::ChromeRank(const Exported& rank, Nanos shift_ns, ProcessIds& ids, TextOutput& out)
    : rank_(rank),
      trace_(rank.trace),
      shift_ns_(shift_ns),
      ids_(ids),
      out_(out),
      argument_text_(rank.trace),
      clock_(rank),
      several_processes_(trace_.info.format != trace::Format::kKineto &&
                         trace_.processes.size() > 1),
      lanes_(trace_.streams.size()) {
  if (!rank.several_ranks) return;
  const std::int64_t number = trace_.info.rank;
  prefix_ = fmt::format("rank {}: ", number >= 0 ? number : static_cast<std::int64_t>(rank.index));
}

void ChromeRank::Begin(const Head& head, const Track& track) {
  out_.Raw(first_ ? "\n{\"ph\": \"" : ",\n{\"ph\": \"").Raw({&head.phase, 1}).Raw("\"");
  first_ = false;
  if (!head.category.empty()) out_.Raw(", \"cat\": \"").Raw(head.category).Raw("\"");
  out_.Raw(", \"name\": ").Quoted(head.name).Raw(", \"pid\": ");
  if (track.pid_text.empty()) {
    out_.Int(track.pid);
  } else {
    out_.Quoted(track.pid_text);
  }
  out_.Raw(", \"tid\": ");
  if (track.tid_text.empty()) {
    out_.Int(track.tid);
  } else {
    out_.Quoted(track.tid_text);
  }
  if (head.phase != 'M') out_.Raw(", \"ts\": ").Micros(head.time_ns + shift_ns_);
}

ChromeRank::Track ChromeRank::ThreadTrack(std::uint16_t thread) {
  const trace::Thread& row = trace_.threads[thread];
  const trace::Process& process = trace_.processes[row.process];
  if (process.pid == -1 && row.tid == -1 && !process.name.empty()) {
    // Two ranks' texts are the same: the process is named after the rank as well.
    return {0, 0, process.name, row.name.empty() ? std::string_view("0") : row.name};
  }
  return {ids_.For(process.pid), row.tid, {}, {}};
}

ChromeRank::Track ChromeRank::StreamTrack(std::uint16_t stream, std::int64_t parked) {
  const trace::Stream& row = trace_.streams[stream];
  return {ids_.For(trace_.devices[row.device].id), row.id + parked, {}, {}};
}

// Calls of different processes may carry the same number, which the PyTorch profiler's never do.
std::int64_t ChromeRank::Correlation(std::int64_t id, RowId call) const {
  if (!several_processes_ || id == 0) return id;
  constexpr int kBits = 40;
  const std::size_t process = call == trace::kNoRow
                                  ? trace_.processes.size()
                                  : trace_.threads[trace_.host.thread[call]].process;
  return id + (static_cast<std::int64_t>(process) << kBits);
}

std::int64_t ChromeRank::FlowId(std::int64_t id) const {
  constexpr int kBits = 36;  // of a double's 53: exact in JavaScript up to 131,072 ranks
  return id + (static_cast<std::int64_t>(rank_.index) << kBits);
}

void ChromeRank::NameRecord(std::string_view record, const Track& track, std::string_view key,
                            std::string_view text) {
  Begin({'M', {}, record, 0}, track);
  out_.Raw(", \"args\": {\"").Raw(key).Raw("\": ").Quoted(text).Raw("}}");
}

void ChromeRank::NameRecord(std::string_view record, const Track& track, std::string_view key,
                            std::int64_t number) {
  Begin({'M', {}, record, 0}, track);
  out_.Raw(", \"args\": {\"").Raw(key).Raw("\": ").Int(number).Raw("}}");
}

// In the order of the tables, so that a reader finds threads in the order in which we have them.
void ChromeRank::NameProcesses() {
  const auto order = static_cast<std::int64_t>(rank_.index) * 1000;
  for (const trace::Process& process : trace_.processes) {
    if (process.pid == -1 && !process.name.empty()) continue;
    const Track track{ids_.For(process.pid), 0, {}, {}};
    if (!process.name.empty() || !prefix_.empty()) {
      NameRecord("process_name", track, "name",
                 prefix_ + (process.name.empty() ? "program" : process.name));
    }
    NameRecord("process_sort_index", track, "sort_index", order);
  }
  for (std::size_t i = 0; i < trace_.threads.size(); ++i) {
    const Track track = ThreadTrack(static_cast<std::uint16_t>(i));
    if (!track.pid_text.empty()) continue;
    const std::string& name = trace_.threads[i].name;
    NameRecord("thread_name", track, "name",
               name.empty() ? fmt::format("thread {}", track.tid) : name);
  }
}

void ChromeRank::NameDevices() {
  const auto order = static_cast<std::int64_t>(rank_.index) * 1000;
  for (const trace::Device& device : trace_.devices) {
    const Track track{ids_.For(device.id), 0, {}, {}};
    NameRecord("process_labels", track, "labels",
               fmt::format("{}GPU {}{}{}", prefix_, device.id, device.name.empty() ? "" : " ",
                           device.name));
    NameRecord("process_sort_index", track, "sort_index", order + 1 + device.id);
  }
  for (std::size_t i = 0; i < trace_.streams.size(); ++i) {
    if (trace_.streams[i].device == trace::kNoRow) continue;
    const Track track = StreamTrack(static_cast<std::uint16_t>(i), 0);
    NameRecord("thread_name", track, "name", fmt::format("stream {}", trace_.streams[i].id));
    NameRecord("thread_sort_index", track, "sort_index", trace_.streams[i].id);
  }
}

void ChromeRank::HostSlices() {
  const trace::HostSlices& host = trace_.host;
  std::vector<bool> launches(host.size());
  for (RowId i = 0; i < trace_.device.size(); ++i) {
    if (trace_.device.api[i] != trace::kNoRow) launches[trace_.device.api[i]] = true;
  }
  for (RowId i = 0; i < host.size(); ++i) {
    clock_.Tick();
    const Track track = ThreadTrack(host.thread[i]);
    const std::string_view name = trace_.HostName(i);
    Begin({'X', HostCategory(host.kind[i], name), name, host.start_ns[i]}, track);
    Duration(host.duration_ns[i]);
    HostArguments(i);
    End();
    if (!launches[i]) continue;
    Begin({'s', "ac2g", "ac2g", host.start_ns[i]}, track);
    out_.Raw(", \"id\": ").Int(FlowId(i + std::int64_t{1}));
    End();
  }
}

void ChromeRank::DeviceWork() {
  const trace::DeviceWork& device = trace_.device;
  for (RowId i = 0; i < device.size(); ++i) {
    clock_.Tick();
    const std::uint16_t stream = device.stream[i];
    const Lanes::Place place =
        lanes_[stream].Add(device.start_ns[i], device.end_ns(i), [](std::size_t, Nanos) {});
    Track track = StreamTrack(stream, place.lane == 0 ? 0 : kOverlapTrack);
    // Streams count to a few hundred; the lanes of one stand beside each other.
    if (place.lane > 0) track.tid += static_cast<std::int64_t>(place.lane - 1) * kSyncTrack;
    Begin({'X', WorkCategory(device.kind[i]), trace_.DeviceName(i), device.start_ns[i]}, track);
    Duration(device.duration_ns[i]);
    WorkArguments(i);
    End();
    LaunchFlow(i, track);
  }
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    for (std::size_t lane = 1; lane < lanes_[i].used(); ++lane) {
      Track track = StreamTrack(static_cast<std::uint16_t>(i), kOverlapTrack);
      track.tid += static_cast<std::int64_t>(lane - 1) * kSyncTrack;
      NameRecord("thread_name", track, "name",
                 fmt::format("stream {} (overlap {})", trace_.streams[i].id, lane));
    }
  }
}

void ChromeRank::LaunchFlow(RowId work, const Track& track) {
  const RowId call = trace_.device.api[work];
  if (call == trace::kNoRow) return;
  Begin({'f', "ac2g", "ac2g", trace_.device.start_ns[work]}, track);
  out_.Raw(", \"id\": ").Int(FlowId(call + std::int64_t{1})).Raw(", \"bp\": \"e\"");
  End();
}

// On the stream's own track and without a "stream" among the arguments, as Kineto has them: HTA
// takes what has one for work.
void ChromeRank::DeviceAnnotations() {
  const trace::DeviceAnnotations& rows = trace_.device_annotations;
  for (RowId i = 0; i < rows.size(); ++i) {
    Begin({'X', "gpu_user_annotation", trace_.Name(rows.name[i]), rows.start_ns[i]},
          StreamTrack(rows.stream[i], 0));
    Duration(rows.duration_ns[i]);
    End();
  }
}

void ChromeRank::Syncs() {
  const trace::SyncRecords& syncs = trace_.syncs;
  for (RowId i = 0; i < syncs.size(); ++i) {
    clock_.Tick();
    const bool whole = syncs.stream[i] == UINT16_MAX;
    const Track track = whole ? Track{ids_.For(trace_.devices.empty() ? 0 : trace_.devices[0].id),
                                      kSyncTrack + kNoContextStream,
                                      {},
                                      {}}
                              : StreamTrack(syncs.stream[i], kSyncTrack);
    Begin({'X', "cuda_sync", trace_.Name(syncs.name[i]), syncs.start_ns[i]}, track);
    Duration(syncs.duration_ns[i]);
    JsonMembers args(out_, ", \"args\": ");
    if (syncs.correlation[i] != 0) {
      args.Key("correlation").Int(Correlation(syncs.correlation[i], trace::kNoRow));
    }
    if (!whole) {
      const trace::Stream& stream = trace_.streams[syncs.stream[i]];
      args.Key("device").Int(trace_.devices[stream.device].id);
    }
    args.Key("stream").Int(whole ? kNoContextStream : trace_.streams[syncs.stream[i]].id);
    if (syncs.wait_on_stream[i] >= 0) args.Key("wait_on_stream").Int(syncs.wait_on_stream[i]);
    if (syncs.event_id[i] != 0) args.Key("wait_on_cuda_event_id").Int(syncs.event_id[i]);
    if (syncs.event_record_correlation[i] != 0) {
      args.Key("wait_on_cuda_event_record_corr_id").Int(syncs.event_record_correlation[i]);
    }
    args.End();
    End();
  }
}

// Those whose time was not collected have no place on a timeline.
void ChromeRank::Events() {
  const trace::EventRecords& events = trace_.events;
  for (RowId i = 0; i < events.size(); ++i) {
    if (events.time_ns[i] == 0 || events.stream[i] == UINT16_MAX) continue;
    const trace::Stream& stream = trace_.streams[events.stream[i]];
    Begin({'X', "cuda_event", "cudaEventRecord", events.time_ns[i]},
          StreamTrack(events.stream[i], kSyncTrack));
    Duration(0);
    JsonMembers args(out_, ", \"args\": ");
    args.Key("device").Int(trace_.devices[stream.device].id);
    args.Key("stream").Int(stream.id);
    if (events.correlation[i] != 0) {
      args.Key("correlation").Int(Correlation(events.correlation[i], trace::kNoRow));
    }
    args.Key("event_id").Int(events.event_id[i]);
    args.End();
    End();
  }
}

void ChromeRank::Flows() {
  const trace::Flows& flows = trace_.flows;
  for (RowId i = 0; i < flows.size(); ++i) {
    const bool finish = flows.finish[i] != 0;
    Begin({finish ? 'f' : 's', "fwdbwd", "fwdbwd", flows.time_ns[i]}, ThreadTrack(flows.thread[i]));
    out_.Raw(", \"id\": ").Int(FlowId(flows.id[i]));
    if (finish) out_.Raw(", \"bp\": \"e\"");
    End();
  }
}

// Not part of what was recorded: of category "Trace" and on tracks named by text.
void ChromeRank::Steps() {
  const std::string process = prefix_ + "hone";
  for (const analyze::Step& step : rank_.facts.steps.steps) {
    Begin({'X', "Trace", step.name, step.span.begin_ns}, {0, 0, process, "steps"});
    Duration(step.span.length());
    out_.Raw(", \"args\": {\"number\": ").Int(step.number);
    out_.Raw(step.warm_up ? ", \"warm_up\": true}" : ", \"warm_up\": false}");
    End();
  }
}

void ChromeRank::Idle() {
  if (!rank_.facts.idle) return;
  const analyze::IdleFacts& idle = *rank_.facts.idle;
  const std::string process = prefix_ + "hone";
  const std::string track = fmt::format("GPU {} idle", trace_.devices[idle.device].id);
  for (const analyze::IdleGap& gap : idle.gaps) {
    Begin({'X', "Trace", analyze::IdleCauseText(gap.cause), gap.span.begin_ns},
          {0, 0, process, track});
    Duration(gap.span.length());
    if (gap.blamed != trace::kNoRow) {
      out_.Raw(", \"args\": {\"because of\": ").Quoted(trace_.HostName(gap.blamed)).Raw("}");
    }
    End();
  }
}

void ChromeRank::Write(bool first) {
  first_ = first;
  NameProcesses();
  NameDevices();
  HostSlices();
  DeviceWork();
  DeviceAnnotations();
  Syncs();
  Events();
  Flows();
  Memory();
  Counters();
  Instants();
  Steps();
  Idle();
}

}  // namespace hone::exporter
