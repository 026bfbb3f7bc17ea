// SPDX-License-Identifier: Apache-2.0
// The "args" of events, and the rows that are little else.
#include <fmt/format.h>

#include <cmath>

#include "export/chrome_rank.h"

namespace hone::exporter {

using trace::RowId;
using trace::SliceKind;

// Arrays as they stand in the file; anything else as a string.
void ChromeRank::JsonArgument(std::string_view key, StringId text, JsonMembers& args) {
  if (text == StringId::kEmpty) return;
  TextOutput& out = args.Key(key);
  if (argument_text_.IsJson(text)) {
    out.Raw(trace_.Name(text));
  } else {
    out.Quoted(trace_.Name(text));
  }
}

void ChromeRank::CollectiveArguments(std::uint32_t row, JsonMembers& args) {
  if (row == 0) return;
  const trace::Collective& c = trace_.collectives[row];
  const auto number = [&](std::string_view key, std::int64_t value) {
    if (value >= 0) args.Key(key).Int(value);
  };
  const auto text = [&](std::string_view key, StringId value) {
    if (value != StringId::kEmpty) args.Key(key).Quoted(trace_.Name(value));
  };
  args.Key("Collective name").Quoted(trace_.Name(c.name));
  text("dtype", c.dtype);
  number("In msg nelems", c.in_elements);
  number("Out msg nelems", c.out_elements);
  number("Group size", c.group_size);
  JsonArgument("In split size", c.in_split, args);
  JsonArgument("Out split size", c.out_split, args);
  text("Process Group Name", c.group_name);
  text("Process Group Description", c.group_description);
  text("Process Group Ranks", c.group_ranks);
  number("Seq", c.sequence);
  number("Src Rank", c.source_rank);
  number("Dst Rank", c.target_rank);
}

void ChromeRank::DetailArguments(std::uint32_t row, JsonMembers& args) {
  if (row == 0) return;
  const trace::OpDetail& detail = trace_.op_details[row];
  if (detail.fwd_thread >= 0) args.Key("Fwd thread id").Int(detail.fwd_thread);
  JsonArgument("Input Dims", detail.dims, args);
  JsonArgument("Input type", detail.types, args);
  JsonArgument("Input Strides", detail.strides, args);
  JsonArgument("Concrete Inputs", detail.concrete, args);
  if (detail.module != StringId::kEmpty) {
    args.Key("Module Hierarchy").Quoted(trace_.Name(detail.module));
  }
  if (detail.stack != StringId::kEmpty) args.Key("Call stack").Quoted(trace_.Name(detail.stack));
  if (detail.stream >= 0) args.Key("stream").Int(detail.stream);
  CollectiveArguments(detail.collective, args);
}

void ChromeRank::HostArguments(RowId i) {
  const trace::HostSlices& host = trace_.host;
  const std::int64_t id = host.id[i], link = host.link[i];
  JsonMembers args(out_, ", \"args\": ");
  switch (host.kind[i]) {
    case SliceKind::kOp:
      if (id != 0) args.Key("External id").Int(id);
      if (link >= 0) args.Key("Sequence number").Int(link);
      DetailArguments(host.detail[i], args);
      break;
    case SliceKind::kAnnotation:
      if (id != 0) args.Key("External id").Int(id);
      DetailArguments(host.detail[i], args);
      break;
    case SliceKind::kApi:
      if (link != 0) args.Key("External id").Int(link);
      if (id != 0) args.Key("correlation").Int(Correlation(id, i));
      break;
    case SliceKind::kPython:
      if (id != 0) args.Key("Python id").Int(id);
      if (link != 0) args.Key("Python parent id").Int(link);
      break;
    case SliceKind::kGraphNode:
      if (id != 0) args.Key("graph node id").Int(id);
      if (link != 0) args.Key("original graph node id").Int(link);
      break;
    default: break;
  }
  args.End();
}

void ChromeRank::WorkArguments(RowId i) {
  const trace::DeviceWork& device = trace_.device;
  const trace::Stream& stream = trace_.streams[device.stream[i]];
  JsonMembers args(out_, ", \"args\": ");
  if (device.external_id[i] != 0) args.Key("External id").Int(device.external_id[i]);
  args.Key("device").Int(trace_.devices[stream.device].id);
  args.Key("stream").Int(stream.id);
  if (device.correlation[i] != 0) {
    args.Key("correlation").Int(Correlation(device.correlation[i], device.api[i]));
  }
  if (device.bytes[i] >= 0) args.Key("bytes").Int(device.bytes[i]);
  if (device.launch[i] != 0) {
    const trace::LaunchConfig& launch = trace_.launches[device.launch[i]];
    const auto triple = [&](std::string_view key, const std::uint32_t(&value)[3]) {
      if ((value[0] | value[1] | value[2]) == 0) return;
      args.Key(key).Raw("[").Uint(value[0]).Raw(", ").Uint(value[1]).Raw(", ").Uint(value[2]);
      out_.Raw("]");
    };
    const auto real = [&](std::string_view key, float value) {
      if (value >= 0) args.Key(key).Real(value);
    };
    triple("grid", launch.grid);
    triple("block", launch.block);
    if (launch.registers_per_thread >= 0) {
      args.Key("registers per thread").Int(launch.registers_per_thread);
    }
    if (launch.shared_memory_bytes >= 0) args.Key("shared memory").Int(launch.shared_memory_bytes);
    real("blocks per SM", launch.blocks_per_sm);
    real("warps per SM", launch.warps_per_sm);
    real("est. achieved occupancy %", launch.occupancy_pct);
  }
  if (device.graph[i] != 0) {
    const trace::GraphNode& node = trace_.graph_nodes[device.graph[i]];
    if (node.graph_id != 0) args.Key("graph id").Int(node.graph_id);
    if (node.node_id != 0) args.Key("graph node id").Int(node.node_id);
  }
  CollectiveArguments(device.collective[i], args);
  args.End();
}

void ChromeRank::Memory() {
  const trace::MemoryEvents& memory = trace_.memory;
  for (RowId i = 0; i < memory.size(); ++i) {
    clock_.Tick();
    Begin({'i', "cpu_instant_event", "[memory]", memory.time_ns[i]}, ThreadTrack(memory.thread[i]));
    out_.Raw(", \"s\": \"t\"");
    JsonMembers args(out_, ", \"args\": ");
    // c10::DeviceType: 0 CPU, 1 CUDA; 20 (PrivateUse1) for those of which we only know that they
    // are neither.
    const trace::MemoryDevice type = memory.device_type[i];
    args.Key("Device Type")
        .Int(type == trace::MemoryDevice::kHost  ? 0
             : type == trace::MemoryDevice::kGpu ? 1
                                                 : 20);
    args.Key("Device Id").Int(memory.device_id[i]);
    args.Key("Addr").Uint(memory.address[i]);
    args.Key("Bytes").Int(memory.bytes[i]);
    if (memory.total_allocated[i] >= 0) args.Key("Total Allocated").Int(memory.total_allocated[i]);
    if (memory.total_reserved[i] >= 0) args.Key("Total Reserved").Int(memory.total_reserved[i]);
    args.End();
    End();
  }
}

// Series of one track at one moment make one event: viewers stack them.
void ChromeRank::Counters() {
  const trace::Counters& counters = trace_.counters;
  const Track track{ids_.For(trace_.processes.empty() ? 0 : trace_.processes[0].pid), 0, {}, {}};
  for (RowId i = 0; i < counters.size();) {
    const Nanos time = counters.time_ns[i];
    const StringId name = counters.track[i];
    Begin({'C', {}, trace_.Name(name), time}, track);
    out_.Raw(", \"args\": {");
    for (const char* comma = "";
         i < counters.size() && counters.time_ns[i] == time && counters.track[i] == name; ++i) {
      clock_.Tick();
      if (!std::isfinite(counters.value[i])) continue;
      out_.Raw(comma).Quoted(trace_.Name(counters.series[i])).Raw(": ").Real(counters.value[i]);
      comma = ", ";
    }
    out_.Raw("}");
    End();
  }
}

void ChromeRank::Instants() {
  const trace::Instants& instants = trace_.instants;
  const std::string process = prefix_ + "Traces";
  for (RowId i = 0; i < instants.size(); ++i) {
    const bool whole = instants.thread[i] == UINT16_MAX;
    Begin({'i', {}, trace_.Name(instants.name[i]), instants.time_ns[i]},
          whole ? Track{0, 0, process, "marks"} : ThreadTrack(instants.thread[i]));
    out_.Raw(whole ? ", \"s\": \"g\"" : ", \"s\": \"t\"");
    End();
  }
}

void ChromeRank::WriteSamples() {
  const trace::StackFrames& frames = trace_.stack_frames;
  const trace::StackSamples& samples = trace_.samples;
  if (samples.size() == 0) return;
  out_.Raw(",\n\"stackFrames\": {");
  for (std::uint32_t i = 1; i < frames.size(); ++i) {
    out_.Raw(i == 1 ? "\n\"" : ",\n\"").Uint(i).Raw("\": {\"category\": \"python\", \"name\": ");
    out_.Quoted(trace_.Name(frames.place[i]));
    if (frames.caller[i] != 0) out_.Raw(", \"parent\": \"").Uint(frames.caller[i]).Raw("\"");
    out_.Raw("}");
  }
  out_.Raw("\n},\n\"samples\": [");
  for (RowId i = 0; i < samples.size(); ++i) {
    clock_.Tick();
    out_.Raw(i == 0 ? "\n{\"cpu\": 0, \"tid\": " : ",\n{\"cpu\": 0, \"tid\": ");
    out_.Int(trace_.threads[samples.thread[i]].tid).Raw(", \"ts\": ");
    out_.Micros(samples.time_ns[i] + shift_ns_);
    // Where the thread was, not what the processor did: waiting counts.
    out_.Raw(samples.state[i] == trace::ThreadState::kWaiting ? ", \"name\": \"waiting\", \"sf\": "
                                                              : ", \"name\": \"python\", \"sf\": ");
    out_.Raw("\"").Uint(samples.frame[i]).Raw("\", \"weight\": ").Int(samples.period_ns[i]);
    out_.Raw("}");
  }
  out_.Raw("\n]");
}

}  // namespace hone::exporter
