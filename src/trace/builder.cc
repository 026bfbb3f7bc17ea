// SPDX-License-Identifier: Apache-2.0
#include "trace/builder.h"

#include <bit>
#include <string>

#include "trace/finish.h"

namespace hone::trace {
namespace {

constexpr std::size_t kMostRows = UINT16_MAX - 1;

// Text keys live in the same maps as numbers, far away from any real pid.
std::int64_t TextKey(StringPool& strings, std::string_view text) {
  return INT64_MIN / 2 + static_cast<std::int64_t>(strings.Intern(text));
}

std::uint64_t Mix(std::uint64_t hash, std::uint64_t value) {
  hash ^= value + 0x9E3779B97F4A7C15ULL + (hash << 6) + (hash >> 2);
  return hash * 0xFF51AFD7ED558CCDULL;
}
std::uint64_t Mix(std::uint64_t hash, StringId id) {
  return Mix(hash, static_cast<std::uint64_t>(id));
}

std::uint64_t HashOf(const OpDetail& d) {
  std::uint64_t h = Mix(Mix(Mix(0, d.dims), d.types), d.strides);
  h = Mix(Mix(Mix(h, d.concrete), d.module), d.stack);
  h = Mix(h, static_cast<std::uint64_t>(d.stream));
  return Mix(Mix(h, d.collective), static_cast<std::uint64_t>(d.fwd_thread));
}
std::uint64_t HashOf(const LaunchConfig& l) {
  std::uint64_t h = 0;
  for (int i = 0; i < 3; ++i) h = Mix(Mix(h, l.grid[i]), l.block[i]);
  h = Mix(h, static_cast<std::uint64_t>(l.registers_per_thread));
  h = Mix(h, static_cast<std::uint64_t>(l.shared_memory_bytes));
  return Mix(h, std::bit_cast<std::uint32_t>(l.occupancy_pct));
}
std::uint64_t HashOf(const GraphNode& n) {
  return Mix(Mix(0, static_cast<std::uint64_t>(n.graph_id)), static_cast<std::uint64_t>(n.node_id));
}
std::uint64_t HashOf(const Collective& c) {
  std::uint64_t h = Mix(Mix(Mix(0, c.name), c.dtype), c.group_name);
  h = Mix(h, static_cast<std::uint64_t>(c.in_elements));
  h = Mix(h, static_cast<std::uint64_t>(c.out_elements));
  return Mix(h, static_cast<std::uint64_t>(c.sequence));
}

}  // namespace

RowId Builder::ProcessFor(std::int64_t pid) {
  const auto [it, added] = processes_.try_emplace(pid, trace_.processes.size());
  if (added) trace_.processes.push_back(Process{pid, {}});
  return it->second;
}

std::uint16_t Builder::ThreadFor(std::int64_t pid, std::int64_t tid) {
  const Key key{pid, tid};
  if (key == last_thread_key_) return last_thread_;
  const auto found = threads_.find(key);
  if (found != threads_.end()) {
    last_thread_ = found->second;
  } else {
    const std::size_t row = trace_.threads.size();
    if (row < kMostRows) {
      trace_.threads.push_back(Thread{ProcessFor(pid), tid, {}, 0, 0});
    } else {
      trace_.losses.Add(LossKind::kCrowdedTable, 1);
    }
    last_thread_ = static_cast<std::uint16_t>(std::min(row, kMostRows - 1));
    threads_.emplace(key, last_thread_);
  }
  last_thread_key_ = key;
  return last_thread_;
}

std::uint16_t Builder::ThreadFor(std::string_view pid, std::string_view tid) {
  const std::int64_t pid_key = TextKey(trace_.strings, pid);
  const std::uint16_t row = ThreadFor(pid_key, TextKey(trace_.strings, tid));
  Thread& thread = trace_.threads[row];
  if (thread.tid != -1) {
    thread.tid = -1;
    thread.name = tid;
    Process& process = trace_.processes[thread.process];
    process.pid = -1;
    process.name = pid;
  }
  return row;
}

RowId Builder::DeviceFor(std::int64_t device_id) {
  const auto [it, added] = devices_.try_emplace(device_id, trace_.devices.size());
  if (added) {
    trace_.devices.emplace_back();
    trace_.devices.back().id = device_id;
  }
  return it->second;
}

std::uint16_t Builder::StreamFor(std::int64_t device_id, std::int64_t stream_id, RowId process) {
  // Process, device and stream in one key: device ids are small, process rows are 32 bits.
  const Key key{(device_id << 32) ^ static_cast<std::int64_t>(process), stream_id};
  if (key == last_stream_key_) return last_stream_;
  const auto found = streams_.find(key);
  if (found != streams_.end()) {
    last_stream_ = found->second;
  } else {
    const std::size_t row = trace_.streams.size();
    if (row < kMostRows) {
      trace_.streams.push_back(Stream{DeviceFor(device_id), process, stream_id});
    } else {
      trace_.losses.Add(LossKind::kCrowdedTable, 1);
    }
    last_stream_ = static_cast<std::uint16_t>(std::min(row, kMostRows - 1));
    streams_.emplace(key, last_stream_);
  }
  last_stream_key_ = key;
  return last_stream_;
}

bool Builder::Admit(Nanos start_ns, Nanos& duration_ns, std::string_view what) {
  if (duration_ns < 0) {
    trace_.losses.Add(LossKind::kNegativeDuration, 1, 0, what);
    duration_ns = 0;
  }
  if (start_ns <= -kLatest || start_ns >= kLatest || duration_ns > kMostTogether - admitted_ns_) {
    trace_.losses.Add(LossKind::kBadTime, 1, 0, what);
    return false;
  }
  admitted_ns_ += duration_ns;
  return true;
}

void Builder::Add(const SliceInput& slice) {
  HostSlices& host = trace_.host;
  host.start_ns.push_back(slice.start_ns);
  host.duration_ns.push_back(slice.duration_ns);
  host.name.push_back(slice.name);
  host.kind.push_back(slice.kind);
  host.thread.push_back(slice.thread);
  host.id.push_back(slice.id);
  host.link.push_back(slice.link);
  host.detail.push_back(slice.detail);
}

void Builder::Add(const WorkInput& work) {
  DeviceWork& device = trace_.device;
  device.start_ns.push_back(work.start_ns);
  device.duration_ns.push_back(work.duration_ns);
  device.name.push_back(work.name);
  device.kind.push_back(work.kind);
  device.stream.push_back(work.stream);
  device.correlation.push_back(work.correlation);
  device.external_id.push_back(work.external_id);
  device.bytes.push_back(work.bytes);
  device.direction.push_back(work.direction);
  device.source.push_back(work.source);
  device.target.push_back(work.target);
  device.launch.push_back(work.launch);
  device.graph.push_back(work.graph);
  device.collective.push_back(work.collective);
}

void Builder::Add(const SyncInput& sync) {
  SyncRecords& syncs = trace_.syncs;
  syncs.start_ns.push_back(sync.start_ns);
  syncs.duration_ns.push_back(sync.duration_ns);
  syncs.name.push_back(sync.name);
  syncs.stream.push_back(sync.stream);
  syncs.correlation.push_back(sync.correlation);
  syncs.wait_on_stream.push_back(sync.wait_on_stream);
  syncs.event_id.push_back(sync.event_id);
  syncs.event_record_correlation.push_back(sync.event_record_correlation);
}

void Builder::Add(const MemoryInput& memory) {
  MemoryEvents& events = trace_.memory;
  events.time_ns.push_back(memory.time_ns);
  events.thread.push_back(memory.thread);
  events.device_type.push_back(memory.device_type);
  events.device_id.push_back(memory.device_id);
  events.address.push_back(memory.address);
  events.bytes.push_back(memory.bytes);
  events.total_allocated.push_back(memory.total_allocated);
  events.total_reserved.push_back(memory.total_reserved);
  events.frame.push_back(memory.frame);
}

void Builder::Add(const SampleInput& sample) {
  StackSamples& samples = trace_.samples;
  samples.time_ns.push_back(sample.time_ns);
  samples.thread.push_back(sample.thread);
  samples.frame.push_back(sample.frame);
  samples.state.push_back(sample.state);
  samples.period_ns.push_back(sample.period_ns);
}

std::uint32_t Builder::AddFrame(std::uint32_t caller, StringId function, StringId place) {
  StackFrames& frames = trace_.stack_frames;
  const auto row = static_cast<std::uint32_t>(frames.size());
  frames.caller.push_back(caller < row ? caller : 0);
  frames.function.push_back(function);
  frames.place.push_back(place);
  return row;
}

void Builder::AddCounter(Nanos time_ns, StringId track, StringId series, double value) {
  trace_.counters.time_ns.push_back(time_ns);
  trace_.counters.track.push_back(track);
  trace_.counters.series.push_back(series);
  trace_.counters.value.push_back(value);
}

void Builder::AddInstant(Nanos time_ns, StringId name, std::uint16_t thread) {
  trace_.instants.time_ns.push_back(time_ns);
  trace_.instants.name.push_back(name);
  trace_.instants.thread.push_back(thread);
}

void Builder::AddFlow(std::int64_t id, Nanos time_ns, std::uint16_t thread, bool finish) {
  trace_.flows.id.push_back(id);
  trace_.flows.time_ns.push_back(time_ns);
  trace_.flows.thread.push_back(thread);
  trace_.flows.finish.push_back(finish ? 1 : 0);
}

void Builder::AddEventRecord(Nanos time_ns, std::uint16_t stream, std::int64_t correlation,
                             std::int64_t event_id) {
  trace_.events.time_ns.push_back(time_ns);
  trace_.events.stream.push_back(stream);
  trace_.events.correlation.push_back(correlation);
  trace_.events.event_id.push_back(event_id);
}

void Builder::AddDeviceAnnotation(Nanos start_ns, Nanos duration_ns, StringId name,
                                  std::uint16_t stream) {
  trace_.device_annotations.start_ns.push_back(start_ns);
  trace_.device_annotations.duration_ns.push_back(duration_ns);
  trace_.device_annotations.name.push_back(name);
  trace_.device_annotations.stream.push_back(stream);
}

template <typename T>
std::uint32_t Builder::Distinct(std::vector<T>& rows,
                                std::unordered_multimap<std::uint64_t, std::uint32_t>& index,
                                const T& value) {
  if (value == rows[0]) return 0;
  const std::uint64_t hash = HashOf(value);
  const auto [first, last] = index.equal_range(hash);
  for (auto it = first; it != last; ++it) {
    if (rows[it->second] == value) return it->second;
  }
  const auto row = static_cast<std::uint32_t>(rows.size());
  rows.push_back(value);
  index.emplace(hash, row);
  return row;
}

std::uint32_t Builder::Detail(const OpDetail& detail) {
  return Distinct(trace_.op_details, details_, detail);
}
std::uint32_t Builder::Launch(const LaunchConfig& launch) {
  return Distinct(trace_.launches, launches_, launch);
}
std::uint32_t Builder::Node(const GraphNode& node) {
  return Distinct(trace_.graph_nodes, nodes_, node);
}
std::uint32_t Builder::CollectiveRow(const Collective& collective) {
  return Distinct(trace_.collectives, collectives_, collective);
}

Trace Builder::Finish() && {
  trace::Finish(trace_);
  return std::move(trace_);
}

}  // namespace hone::trace
