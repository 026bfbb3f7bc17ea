// SPDX-License-Identifier: Apache-2.0
#include "export/perfetto_rank.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace hone::exporter {

using trace::kNoRow;
using trace::RowId;

PerfettoRank::PerfettoRank(const Exported& rank, Nanos shift_ns, ProcessIds& ids,
                           PerfettoStream& stream)
    : rank_(rank),
      trace_(rank.trace),
      shift_ns_(shift_ns),
      stream_(stream),
      tracks_(rank, ids, stream),
      clock_(rank) {}

// Perfetto counts time from 0 on.
std::uint64_t PerfettoRank::Stamp(Nanos time_ns) {
  const Nanos time = time_ns + shift_ns_;
  if (time >= 0) return static_cast<std::uint64_t>(time);
  ++clamped_;
  return 0;
}

std::uint64_t PerfettoRank::LaneTrack(Timeline& timeline, std::size_t lane) {
  if (lane == 0) return timeline.track;
  while (timeline.aside.size() < lane) {
    const auto number = static_cast<int>(timeline.aside.size()) + 1;
    timeline.aside.push_back(tracks_.Below(
        timeline.track, fmt::format("{} (overlap {})", timeline.name, number), number));
  }
  return timeline.aside[lane - 1];
}

void PerfettoRank::EndSlice(std::uint64_t track, Nanos time_ns) {
  stream_.Begin(proto::kSliceEnd, track, Stamp(time_ns));
  stream_.End();
}

void PerfettoRank::OpenSlice(Timeline& timeline, Nanos start_ns, Nanos duration_ns) {
  const Nanos end_ns = start_ns + duration_ns;
  const Lanes::Place place = timeline.lanes.Add(
      start_ns, end_ns,
      [&](std::size_t lane, Nanos ended_ns) { EndSlice(LaneTrack(timeline, lane), ended_ns); });
  stream_.Begin(proto::kSliceBegin, LaneTrack(timeline, place.lane), Stamp(start_ns));
  if (place.end_ns != end_ns) stream_.Annotate(Arg::kWholeDuration, duration_ns);
}

void PerfettoRank::Close(Timeline& timeline) {
  timeline.lanes.Finish(
      [&](std::size_t lane, Nanos ended_ns) { EndSlice(LaneTrack(timeline, lane), ended_ns); });
  cut_ += timeline.lanes.cut();
}

void PerfettoRank::IndexLaunches() {
  const Column<RowId>& api = trace_.device.api;
  first_work_.assign(trace_.host.size() + 1, 0);
  for (RowId i = 0; i < api.size(); ++i) {
    if (api[i] != kNoRow) ++first_work_[api[i] + 1];
  }
  for (std::size_t i = 1; i < first_work_.size(); ++i) first_work_[i] += first_work_[i - 1];
  work_of_.assign(first_work_.back(), 0);
  // Filled from the back, the starts end where they belong.
  std::vector<std::uint32_t> next(first_work_.begin() + 1, first_work_.end());
  for (RowId i = static_cast<RowId>(api.size()); i-- > 0;) {
    if (api[i] != kNoRow) work_of_[--next[api[i]]] = i;
  }
}

// Arrows from calls to work and from forward to backward have ids that cannot meet, of any rank.
std::uint64_t PerfettoRank::LaunchFlow(RowId work) const {
  return ((static_cast<std::uint64_t>(rank_.index) + 1) << 32) + work;
}
std::uint64_t PerfettoRank::ForwardFlow(std::int64_t id) const {
  constexpr std::uint64_t kForward = std::uint64_t{1} << 63;
  const std::uint64_t rank = (static_cast<std::uint64_t>(rank_.index) + 1) * 0x9E3779B97F4A7C15ULL;
  return kForward | (static_cast<std::uint64_t>(id) ^ (rank >> 1));
}

void PerfettoRank::HostSlices() {
  const trace::HostSlices& host = trace_.host;
  const std::vector<FlowEnd> flows = FindFlowEnds(trace_);
  auto flow = flows.begin();
  for (std::size_t t = 0; t < trace_.threads.size(); ++t) {
    const trace::Thread& thread = trace_.threads[t];
    if (thread.first_slice == thread.last_slice) continue;
    Timeline timeline;
    timeline.track = tracks_.ForThread(static_cast<std::uint16_t>(t));
    timeline.name = thread.name.empty() ? fmt::format("thread {}", thread.tid) : thread.name;
    for (RowId i = thread.first_slice; i < thread.last_slice; ++i) {
      clock_.Tick();
      OpenSlice(timeline, host.start_ns[i], host.duration_ns[i]);
      stream_.Name(host.name[i]);
      stream_.InCategory(static_cast<Category>(host.kind[i]));
      HostArguments(i);
      for (std::uint32_t w = first_work_[i]; w < first_work_[i + 1]; ++w) {
        stream_.Flow(LaunchFlow(work_of_[w]));
      }
      for (; flow != flows.end() && flow->slice <= i; ++flow) {
        if (flow->slice < i) continue;
        if (flow->finish) {
          stream_.EndFlow(ForwardFlow(flow->id));
        } else {
          stream_.Flow(ForwardFlow(flow->id));
        }
      }
      stream_.End();
    }
    Close(timeline);
    moved_host_ += timeline.lanes.moved();
  }
}

void PerfettoRank::DeviceWork() {
  const trace::DeviceWork& device = trace_.device;
  std::vector<Timeline> timelines(trace_.streams.size());
  for (RowId i = 0; i < device.size(); ++i) {
    clock_.Tick();
    Timeline& timeline = timelines[device.stream[i]];
    if (timeline.track == 0) {
      timeline.track = tracks_.ForStream(device.stream[i]);
      timeline.name = fmt::format("stream {}", trace_.streams[device.stream[i]].id);
    }
    OpenSlice(timeline, device.start_ns[i], device.duration_ns[i]);
    stream_.Name(device.name[i]);
    constexpr auto kFirst = static_cast<std::uint8_t>(Category::kKernel);
    stream_.InCategory(static_cast<Category>(kFirst + static_cast<std::uint8_t>(device.kind[i])));
    WorkArguments(i);
    if (device.api[i] != kNoRow) stream_.EndFlow(LaunchFlow(i));
    stream_.End();
  }
  for (Timeline& timeline : timelines) {
    Close(timeline);
    moved_device_ += timeline.lanes.moved();
  }
}

void PerfettoRank::DeviceAnnotations() {
  const trace::DeviceAnnotations& rows = trace_.device_annotations;
  // Not sorted by Finish as a rule; slices must come in order.
  std::vector<RowId> order(rows.size());
  for (RowId i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](RowId a, RowId b) {
    return rows.start_ns[a] != rows.start_ns[b] ? rows.start_ns[a] < rows.start_ns[b]
                                                : rows.duration_ns[a] > rows.duration_ns[b];
  });
  std::vector<Timeline> timelines(trace_.streams.size());
  for (const RowId i : order) {
    Timeline& timeline = timelines[rows.stream[i]];
    if (timeline.track == 0) {
      const trace::Stream& stream = trace_.streams[rows.stream[i]];
      timeline.name = fmt::format("stream {} ranges", stream.id);
      timeline.track = tracks_.Below(tracks_.ForDevice(stream.device), timeline.name, 5);
    }
    OpenSlice(timeline, rows.start_ns[i], rows.duration_ns[i]);
    stream_.Name(rows.name[i]);
    stream_.InCategory(Category::kDeviceAnnotation);
    stream_.End();
  }
  for (Timeline& timeline : timelines) Close(timeline);
}

void PerfettoRank::Steps() {
  const analyze::Steps& steps = rank_.facts.steps;
  if (steps.steps.empty()) return;
  Timeline timeline;
  timeline.name = "steps";
  timeline.track = tracks_.Below(tracks_.ForLead(), timeline.name, -2);
  for (const analyze::Step& step : steps.steps) {
    OpenSlice(timeline, step.span.begin_ns, step.span.length());
    stream_.Name(step.name);
    stream_.InCategory(Category::kStep);
    stream_.Annotate(Arg::kStepNumber, step.number);
    stream_.Annotate(Arg::kWarmUp, std::int64_t{step.warm_up});
    stream_.End();
  }
  Close(timeline);
}

void PerfettoRank::Idle() {
  if (!rank_.facts.idle) return;
  const analyze::IdleFacts& idle = *rank_.facts.idle;
  Timeline timeline;
  timeline.name = "idle, by cause";
  timeline.track = tracks_.Below(tracks_.ForDevice(idle.device), timeline.name, 0);
  for (const analyze::IdleGap& gap : idle.gaps) {
    OpenSlice(timeline, gap.span.begin_ns, gap.span.length());
    stream_.Name(analyze::IdleCauseText(gap.cause));
    stream_.InCategory(Category::kIdle);
    if (gap.blamed != kNoRow) stream_.Annotate(Arg::kBecauseOf, trace_.host.name[gap.blamed]);
    if (gap.next_work != kNoRow)
      stream_.Annotate(Arg::kNextWork, trace_.device.name[gap.next_work]);
    stream_.End();
  }
  Close(timeline);
}

// What a viewer would otherwise show without a word.
void PerfettoRank::Notes() {
  if (!rank_.note) return;
  if (moved_device_ > 0) {
    rank_.note(fmt::format(
        "{} another on the same stream and {} on a track of {} own",
        Count(moved_device_, "piece of device work overlaps", "pieces of device work overlap"),
        moved_device_ == 1 ? "stands" : "stand", moved_device_ == 1 ? "its" : "their"));
  }
  if (moved_host_ > 0) {
    rank_.note(fmt::format("{} another on the same thread and {} on a track of {} own",
                           Count(moved_host_, "host slice crosses", "host slices cross"),
                           moved_host_ == 1 ? "stands" : "stand",
                           moved_host_ == 1 ? "its" : "their"));
  }
  if (cut_ > 0) {
    rank_.note(fmt::format(
        "{} where {} overlap at once and {} cut short; the whole duration is "
        "among the arguments",
        Count(cut_, "slice lies", "slices lie"), Lanes::kMost, cut_ == 1 ? "is" : "are"));
  }
  if (clamped_ > 0) {
    rank_.note(fmt::format("{} before the clock of the first rank began and {} moved to its start",
                           Count(clamped_, "time lies", "times lie"),
                           clamped_ == 1 ? "is" : "are"));
  }
}

void PerfettoRank::Write() {
  IndexLaunches();
  Steps();
  HostSlices();
  Idle();
  DeviceWork();
  DeviceAnnotations();
  Syncs();
  Events();
  Memory();
  Counters();
  Instants();
  Samples();
  Notes();
}

}  // namespace hone::exporter
