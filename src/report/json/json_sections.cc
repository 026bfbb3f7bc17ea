// SPDX-License-Identifier: Apache-2.0
#include "report/json/json_sections.h"

#include <cmath>

#include "report/tables.h"

namespace hone::report {
namespace {

using Layout = JsonWriter::Layout;

void WriteSplit(JsonWriter& json, const analyze::TimelineSplit& split) {
  json.FieldMillis("total_ms", split.total_ns);
  json.FieldMillis("busy_ms", split.busy_ns);
  json.FieldMillis("compute_ms", split.compute_ns);
  json.FieldMillis("exposed_comm_ms", split.exposed_comm_ns);
  json.FieldMillis("exposed_copy_ms", split.exposed_copy_ns);
  json.FieldMillis("idle_ms", split.idle_ns);
  json.FieldMillis("comm_ms", split.comm_ns);
  json.FieldMillis("copy_ms", split.copy_ns);
}

// Metadata that the file may leave out: null then.
void WriteText(JsonWriter& json, std::string_view key, const std::string& text) {
  json.Key(key);
  text.empty() ? json.Null() : json.String(text);
}

void WriteCount(JsonWriter& json, std::string_view key, std::int64_t value) {
  json.Key(key);
  value < 0 ? json.Null() : json.Int(value);
}

void WriteSetting(JsonWriter& json, std::string_view key, int value) {
  json.Key(key);
  value < 0 ? json.Null() : json.Bool(value != 0);
}

void WriteDevice(JsonWriter& json, const trace::Device& device) {
  json.BeginObject(Layout::kInline);
  WriteCount(json, "id", device.id);
  WriteText(json, "name", device.name);
  WriteCount(json, "memory_bytes", device.memory_bytes);
  WriteCount(json, "compute_major", device.compute_major);
  WriteCount(json, "compute_minor", device.compute_minor);
  WriteCount(json, "sm_count", device.sm_count);
  json.EndObject();
}

void WriteCell(JsonWriter& json, const Cell& cell, Unit unit) {
  if (const auto* text = cell.text()) return json.String(*text);
  if (const auto* number = cell.number()) return json.Double(*number);
  if (const auto* flag = cell.flag()) return json.Bool(*flag);
  const auto* integer = cell.integer();
  if (integer == nullptr) return json.Null();
  if (unit == Unit::kMillis) return json.Millis(*integer);
  if (unit == Unit::kMicros) return json.Micros(*integer);
  json.Int(*integer);
}

void WriteDeviceMemory(JsonWriter& json, const analyze::DeviceMemory& device) {
  const char* type = device.type == trace::MemoryDevice::kHost  ? "host"
                     : device.type == trace::MemoryDevice::kGpu ? "gpu"
                                                                : "other";
  json.BeginObject();
  json.Field("type", type);
  json.Field("device", device.device_id);
  json.Field("relative", device.relative);
  json.Field("peak_allocated_bytes", device.peak_allocated);
  WriteCount(json, "peak_reserved_bytes", device.peak_reserved);
  json.Field("allocated_before_bytes", device.allocated_before);
  WriteCount(json, "capacity_bytes", device.capacity);
  WriteKnown(json, "fragmentation", device.fragmentation);
  json.Field("allocations", device.allocations);
  json.Field("frees", device.frees);
  WriteKnown(json, "growth_per_step_bytes", device.growth_per_step);
  json.Key("at_step_end_bytes").BeginArray(Layout::kInline);
  for (const Bytes bytes : device.at_step_end) json.Int(bytes);
  json.EndArray();
  const Nanos origin = device.timeline.empty() ? 0 : device.timeline.front().time_ns;
  json.FieldMillis("peak_at_ms", device.timeline.empty() ? 0 : device.peak_time_ns - origin);
  json.Key("timeline").BeginArray();
  for (const analyze::MemoryPoint& point : device.timeline) {
    json.BeginObject(Layout::kInline);
    json.FieldMillis("ms", point.time_ns - origin);
    json.Field("allocated_bytes", point.allocated);
    WriteCount(json, "reserved_bytes", point.reserved);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
}

}  // namespace

void WriteAbsent(JsonWriter& json, std::string_view reason) {
  json.BeginObject(Layout::kInline);
  json.Field("absent", reason);
  json.EndObject();
}

void WriteKnown(JsonWriter& json, std::string_view key, const Known<double>& value) {
  json.Key(key);
  value ? json.Double(*value) : WriteAbsent(json, value.why_not());
}

void WriteKnownMillis(JsonWriter& json, std::string_view key, const Known<Nanos>& value) {
  json.Key(key);
  value ? json.Millis(*value) : WriteAbsent(json, value.why_not());
}

void WriteRows(JsonWriter& json, const Table& table) {
  json.BeginArray();
  for (const std::vector<Cell>& row : table.rows) {
    json.BeginObject(Layout::kInline);
    for (std::size_t i = 0; i < row.size(); ++i) {
      json.Key(table.columns[i].id);
      WriteCell(json, row[i], table.columns[i].unit);
    }
    json.EndObject();
  }
  json.EndArray();
}

void WriteTraceSection(JsonWriter& json, const Report& report, const Input& input) {
  const trace::TraceInfo& info = input.trace.info;
  json.BeginObject();
  json.Field("path", ShownPath(report, input));
  json.Field("format", trace::FormatName(info.format));
  WriteText(json, "recorder", info.recorder);
  WriteText(json, "name", report.stable ? std::string() : info.trace_name);
  json.Key("devices").BeginArray();
  for (const trace::Device& device : input.trace.devices) WriteDevice(json, device);
  json.EndArray();
  json.Field("processes", input.facts.trust.present.processes);
  json.Field("events", info.events_seen);
  json.Field("input_bytes", info.input_bytes);
  json.Field("raw_bytes", info.raw_bytes);
  WriteCount(json, "rank", info.rank);
  WriteCount(json, "world_size", info.world_size);
  WriteText(json, "backend", info.backend);
  json.Key("base_time_ns");
  report.stable ? json.Null() : json.Int(info.base_time_ns);
  json.Field("damaged", info.compression_damaged);
  if (info.timed_steps.bare_steps > 0) {
    json.Key("timed_steps").BeginObject(Layout::kInline);
    json.FieldMillis("recorded_ms", info.timed_steps.recorded_ns);
    json.FieldMillis("bare_ms", info.timed_steps.bare_ns);
    json.Field("bare_steps", info.timed_steps.bare_steps);
    json.EndObject();
  }
  json.Key("versions").BeginObject(Layout::kInline);
  WriteText(json, "cuda_runtime", info.cuda_runtime_version);
  WriteText(json, "cuda_driver", info.cuda_driver_version);
  WriteText(json, "cupti", info.cupti_version);
  WriteText(json, "nccl", info.nccl_version);
  json.EndObject();
  json.Key("settings").BeginObject(Layout::kInline);
  WriteSetting(json, "with_stack", info.with_stack);
  WriteSetting(json, "record_shapes", info.record_shapes);
  WriteSetting(json, "profile_memory", info.profile_memory);
  WriteSetting(json, "with_flops", info.with_flops);
  WriteSetting(json, "with_modules", info.with_modules);
  json.EndObject();
  json.EndObject();
}

void WriteTrustSection(JsonWriter& json, const Report& report, const Input& input) {
  const analyze::TrustFacts& trust = input.facts.trust;
  json.BeginObject();
  json.Field("verdict", analyze::VerdictName(trust.verdict));
  json.Key("reasons").BeginArray();
  for (const analyze::TrustReason& reason : trust.reasons) {
    json.BeginObject(Layout::kInline);
    json.Field("lowers_to", analyze::VerdictName(reason.lowers_to));
    json.Field("text", reason.text);
    json.EndObject();
  }
  json.EndArray();
  const analyze::InputPresence& present = trust.present;
  json.Key("present").BeginObject(Layout::kInline);
  json.Field("ops", present.ops);
  json.Field("annotations", present.annotations);
  json.Field("api_calls", present.api_calls);
  json.Field("python", present.python);
  json.Field("os_calls", present.os_calls);
  json.Field("kernels", present.kernels);
  json.Field("copies", present.copies);
  json.Field("sets", present.sets);
  json.Field("graphs", present.graphs);
  json.Field("memory_events", present.memory_events);
  json.Field("counters", present.counters);
  json.Field("syncs", present.syncs);
  json.Field("flows", present.flows);
  json.Field("shapes", present.shapes);
  json.Field("stacks", present.stacks);
  json.Field("modules", present.modules);
  json.EndObject();
  json.Key("losses");
  const Known<Table> losses = LossesTable(report);
  if (losses) {
    WriteRows(json, *losses);
  } else {  // nothing lost is an answer: the empty list
    json.BeginArray();
    json.EndArray();
  }
  json.Field("steps", trust.steps);
  json.Field("steady_steps", trust.steady_steps);
  json.Field("warm_up_inside", trust.warm_up_inside);
  json.EndObject();
}

namespace {

// The eight figures of "timeline" by the rules that --compat asked for, in that tool's arithmetic.
void WriteTraceLensSplit(JsonWriter& json, const analyze::TraceLensTimeline& split) {
  json.Field("total_ms", split.total);
  json.Field("busy_ms", split.busy);
  json.Field("compute_ms", split.computation);
  json.Field("exposed_comm_ms", split.exposed_comm);
  json.Field("exposed_copy_ms", split.exposed_memcpy);
  json.Field("idle_ms", split.idle);
  json.Field("comm_ms", split.total_comm);
  json.Field("copy_ms", split.total_memcpy);
}

void WriteHtaSplit(JsonWriter& json, const analyze::HtaBreakdown& split) {
  json.Field("total_ms", split.kernel_time / 1e3);
  json.Field("busy_ms", (split.kernel_time - split.idle) / 1e3);
  json.Field("compute_ms", split.compute / 1e3);
  json.Field("non_compute_ms", split.non_compute / 1e3);
  json.Field("idle_ms", split.idle / 1e3);
  for (const char* key : {"exposed_comm_ms", "exposed_copy_ms", "comm_ms", "copy_ms"}) {
    json.Key(key);
    WriteAbsent(json, "HTA does not tell communication from copies");
  }
}

void WriteMainSplit(JsonWriter& json, const Input& input, const analyze::TimelineSplit& ours) {
  if (input.tracelens && input.tracelens->timeline) {
    json.Field("rules", "tracelens");
    WriteTraceLensSplit(json, *input.tracelens->timeline);
  } else if (input.hta && input.hta->breakdown) {
    json.Field("rules", "hta");
    WriteHtaSplit(json, *input.hta->breakdown);
  } else {
    json.Field("rules", "hone");
    WriteSplit(json, ours);
  }
}

}  // namespace

void WriteTimelineSection(JsonWriter& json, const Input& input) {
  const Known<analyze::Timeline>& timeline = input.facts.timeline;
  if (!timeline) return WriteAbsent(json, timeline.why_not());
  const analyze::DeviceTimeline& main = timeline->main_device();
  const auto device_id = [&](const analyze::DeviceTimeline& device) {
    return device.device < input.trace.devices.size() ? input.trace.devices[device.device].id : -1;
  };
  json.BeginObject();
  WriteMainSplit(json, input, main.whole);
  WriteCount(json, "device", device_id(main));
  json.Key("steady").BeginObject();
  WriteSplit(json, main.steady);
  json.EndObject();
  json.Key("per_device").BeginArray();
  for (const analyze::DeviceTimeline& device : timeline->devices) {
    json.BeginObject(Layout::kInline);
    WriteCount(json, "device", device_id(device));
    json.Field("work_count", device.work_count);
    WriteSplit(json, device.whole);
    json.Key("steady").BeginObject();
    WriteSplit(json, device.steady);
    json.EndObject();
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
}

void WriteMemorySection(JsonWriter& json, const Input& input, const Known<Table>& ops,
                        const Known<Table>& lines) {
  const Known<analyze::MemoryFacts>& memory = input.facts.memory;
  if (!memory) return WriteAbsent(json, memory.why_not());
  json.BeginObject();
  json.Key("devices").BeginArray();
  for (const analyze::DeviceMemory& device : memory->devices) WriteDeviceMemory(json, device);
  json.EndArray();
  json.Key("ops");
  ops ? WriteRows(json, *ops) : WriteAbsent(json, ops.why_not());
  json.Key("lines");
  lines ? WriteRows(json, *lines) : WriteAbsent(json, lines.why_not());
  json.EndObject();
}

void WriteLoaderSection(JsonWriter& json, const Input& input) {
  const Known<analyze::LoaderFacts>& loader = input.facts.loader;
  if (!loader) return WriteAbsent(json, loader.why_not());
  const char* mode = loader->mode == analyze::LoaderMode::kInProcess ? "in-process"
                     : loader->mode == analyze::LoaderMode::kWorkers ? "workers"
                                                                     : "unknown";
  json.BeginObject();
  json.Field("mode", mode);
  json.Field("iterator", input.trace.Name(loader->iterator));
  json.Field("fetches", loader->fetches);
  json.FieldMillis("total_ms", loader->total_ns);
  json.FieldMillis("mean_ms", loader->mean_ns);
  json.FieldMillis("p95_ms", loader->p95_ns);
  json.FieldMillis("max_ms", loader->max_ns);
  json.Key("per_step_ms");
  if (loader->per_step_ns) {
    json.Millis(static_cast<Nanos>(std::llround(*loader->per_step_ns)));
  } else {
    WriteAbsent(json, loader->per_step_ns.why_not());
  }
  WriteKnown(json, "step_share", loader->step_share);
  WriteKnownMillis(json, "device_idle_ms", loader->device_idle_ns);
  json.EndObject();
}

void WriteLaunchesSection(JsonWriter& json, const Input& input) {
  const Known<analyze::LaunchFacts>& launches = input.facts.launches;
  if (!launches) return WriteAbsent(json, launches.why_not());
  json.BeginObject();
  json.Field("launches", launches->launches);
  json.FieldMicros("call_p50_us", launches->call_p50_ns);
  json.FieldMicros("call_p95_us", launches->call_p95_ns);
  json.FieldMicros("delay_p50_us", launches->delay_p50_ns);
  json.FieldMicros("delay_p95_us", launches->delay_p95_ns);
  json.FieldMicros("delay_max_us", launches->delay_max_ns);
  json.Field("starved", launches->starved);
  json.Field("queue_max", launches->queue_max);
  json.Field("queue_mean", launches->queue_mean);
  json.Field("queue_full", launches->queue_full);
  json.EndObject();
}

void WriteKernelSizesSection(JsonWriter& json, const Input& input) {
  const Known<analyze::KernelSizes>& sizes = input.facts.kernel_sizes;
  if (!sizes) return WriteAbsent(json, sizes.why_not());
  json.BeginObject();
  json.Field("kernels", sizes->kernels);
  json.Field("under_10us", sizes->under_10us);
  json.Key("buckets").BeginArray();
  for (std::size_t i = 0; i < sizes->count.size(); ++i) {
    json.BeginObject(Layout::kInline);
    json.Key("below_us");
    i < analyze::KernelSizes::kEdges.size() ? json.Micros(analyze::KernelSizes::kEdges[i])
                                            : json.Null();
    json.Field("count", sizes->count[i]);
    json.FieldMillis("ms", sizes->time_ns[i]);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
}

void WriteSkew(JsonWriter& json, const Known<analyze::SkewFacts>& skew) {
  if (!skew) return WriteAbsent(json, skew.why_not());
  json.BeginObject();
  json.Field("matched", skew->matched);
  json.Field("unmatched", skew->unmatched);
  json.FieldMicros("mean_us", skew->mean_skew_ns);
  json.FieldMicros("p95_us", skew->p95_skew_ns);
  json.FieldMicros("max_us", skew->max_skew_ns);
  WriteCount(json, "straggler", skew->straggler);
  json.Field("clocks_aligned", skew->clocks_aligned);
  json.Field("note", skew->note);
  json.EndObject();
}

}  // namespace hone::report
