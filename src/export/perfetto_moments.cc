// SPDX-License-Identifier: Apache-2.0
// What is no slice of a thread or a stream: synchronizations, memory, counters, marks, samples.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>
#include <unordered_map>

#include "export/perfetto_rank.h"

namespace hone::exporter {

using trace::kNoRow;
using trace::RowId;

namespace {

std::string MemoryName(trace::MemoryDevice type, int device) {
  switch (type) {
    case trace::MemoryDevice::kHost: return "host memory";
    case trace::MemoryDevice::kGpu: return fmt::format("GPU {} memory", device);
    case trace::MemoryDevice::kOther: break;
  }
  return fmt::format("memory of device {}", device);
}

}  // namespace

void PerfettoRank::Syncs() {
  const trace::SyncRecords& syncs = trace_.syncs;
  if (trace_.devices.empty()) return;
  std::vector<RowId> order(syncs.size());
  std::iota(order.begin(), order.end(), RowId{0});
  std::sort(order.begin(), order.end(), [&](RowId a, RowId b) {
    return syncs.start_ns[a] != syncs.start_ns[b] ? syncs.start_ns[a] < syncs.start_ns[b]
                                                  : syncs.duration_ns[a] > syncs.duration_ns[b];
  });
  const std::size_t whole = trace_.streams.size();
  std::vector<Timeline> timelines(whole + 1);
  for (const RowId i : order) {
    clock_.Tick();
    const std::size_t at = std::min<std::size_t>(syncs.stream[i], whole);
    Timeline& timeline = timelines[at];
    if (timeline.track == 0) {
      const bool stream = at < whole;
      timeline.name = stream ? fmt::format("stream {} syncs", trace_.streams[at].id) : "syncs";
      timeline.track = tracks_.Below(tracks_.ForDevice(stream ? trace_.streams[at].device : 0),
                                     timeline.name, 100'000 + static_cast<int>(at));
    }
    OpenSlice(timeline, syncs.start_ns[i], syncs.duration_ns[i]);
    stream_.Name(syncs.name[i]);
    stream_.InCategory(Category::kSync);
    if (syncs.correlation[i] != 0) stream_.Annotate(Arg::kCorrelation, syncs.correlation[i]);
    if (syncs.wait_on_stream[i] >= 0) stream_.Annotate(Arg::kWaitOnStream, syncs.wait_on_stream[i]);
    if (syncs.event_id[i] != 0) stream_.Annotate(Arg::kEventId, syncs.event_id[i]);
    stream_.End();
  }
  for (Timeline& timeline : timelines) Close(timeline);
}

// Event records as the device saw them; those whose time was not collected have no place.
void PerfettoRank::Events() {
  const trace::EventRecords& events = trace_.events;
  for (RowId i = 0; i < events.size(); ++i) {
    if (events.time_ns[i] == 0 || events.stream[i] >= trace_.streams.size()) continue;
    stream_.Begin(proto::kInstant, tracks_.ForStream(events.stream[i]), Stamp(events.time_ns[i]));
    stream_.Name("event record");
    stream_.InCategory(Category::kEvent);
    if (events.correlation[i] != 0) stream_.Annotate(Arg::kCorrelation, events.correlation[i]);
    if (events.event_id[i] != 0) stream_.Annotate(Arg::kEventId, events.event_id[i]);
    stream_.End();
  }
}

// What each allocator holds after each event; where events carry no total, counted from the start.
void PerfettoRank::Memory() {
  const trace::MemoryEvents& memory = trace_.memory;
  struct Allocator {
    std::uint64_t allocated_track = 0, reserved_track = 0;
    bool totals = false;
    Bytes allocated = 0;
  };
  std::map<std::tuple<RowId, trace::MemoryDevice, int>, Allocator> allocators;
  const auto key = [&](RowId i) {
    return std::tuple(trace_.threads[memory.thread[i]].process, memory.device_type[i],
                      int{memory.device_id[i]});
  };
  for (RowId i = 0; i < memory.size(); ++i) {
    if (memory.total_allocated[i] >= 0) allocators[key(i)].totals = true;
  }
  for (RowId i = 0; i < memory.size(); ++i) {
    clock_.Tick();
    Allocator& allocator = allocators[key(i)];
    const std::string name = MemoryName(memory.device_type[i], memory.device_id[i]);
    const auto track = [&](const char* what) {
      const RowId process = trace_.threads[memory.thread[i]].process;
      return tracks_.Counter(tracks_.ForProcess(process), name + what, proto::kUnitSizeBytes);
    };
    if (allocator.allocated_track == 0) {
      allocator.allocated_track =
          track(allocator.totals ? " allocated" : " allocated since the start");
    }
    allocator.allocated = memory.total_allocated[i] >= 0 ? memory.total_allocated[i]
                                                         : allocator.allocated + memory.bytes[i];
    stream_.Begin(proto::kCounter, allocator.allocated_track, Stamp(memory.time_ns[i]));
    stream_.Count(allocator.allocated);
    stream_.Annotate(Arg::kBytes, memory.bytes[i]);
    stream_.Annotate(Arg::kAddress, static_cast<std::int64_t>(memory.address[i]));
    stream_.End();
    if (memory.total_reserved[i] < 0) continue;
    if (allocator.reserved_track == 0) allocator.reserved_track = track(" reserved");
    stream_.Begin(proto::kCounter, allocator.reserved_track, Stamp(memory.time_ns[i]));
    stream_.Count(memory.total_reserved[i]);
    stream_.End();
  }
}

void PerfettoRank::Counters() {
  const trace::Counters& counters = trace_.counters;
  std::unordered_map<std::uint64_t, std::uint64_t> tracks;
  for (RowId i = 0; i < counters.size(); ++i) {
    clock_.Tick();
    if (!std::isfinite(counters.value[i])) continue;
    const auto name = static_cast<std::uint32_t>(counters.track[i]);
    const auto series = static_cast<std::uint32_t>(counters.series[i]);
    std::uint64_t& track = tracks[(std::uint64_t{name} << 32) | series];
    if (track == 0) {
      const std::string_view of = trace_.Name(counters.track[i]);
      const std::string_view what = trace_.Name(counters.series[i]);
      track = tracks_.Counter(tracks_.ForLead(),
                              what.empty() ? std::string(of) : fmt::format("{}: {}", of, what),
                              proto::kUnitUnspecified);
    }
    stream_.Begin(proto::kCounter, track, Stamp(counters.time_ns[i]));
    stream_.Count(counters.value[i]);
    stream_.End();
  }
}

void PerfettoRank::Instants() {
  const trace::Instants& instants = trace_.instants;
  std::uint64_t marks = 0;
  for (RowId i = 0; i < instants.size(); ++i) {
    const bool whole = instants.thread[i] >= trace_.threads.size();
    if (whole && marks == 0) marks = tracks_.Below(tracks_.ForLead(), "marks", -1);
    stream_.Begin(proto::kInstant, whole ? marks : tracks_.ForThread(instants.thread[i]),
                  Stamp(instants.time_ns[i]));
    stream_.Name(instants.name[i]);
    stream_.InCategory(Category::kMark);
    stream_.End();
  }
}

// Perfetto shows samples as flame graphs of the process and of its threads.
void PerfettoRank::Samples() {
  const trace::StackSamples& samples = trace_.samples;
  std::uint64_t counted = 0;  // a timebase only grows
  for (RowId i = 0; i < samples.size(); ++i) {
    clock_.Tick();
    if (samples.frame[i] == 0) continue;
    tracks_.ForThread(samples.thread[i]);  // described, so that the samples have a named owner
    const PerfettoTracks::Thread ids = tracks_.IdsOf(samples.thread[i]);
    counted += static_cast<std::uint64_t>(std::max<Nanos>(samples.period_ns[i], 1));
    stream_.Sample(ids.pid, ids.tid, samples.frame[i], Stamp(samples.time_ns[i]), counted);
  }
}

}  // namespace hone::exporter
