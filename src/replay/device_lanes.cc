// SPDX-License-Identifier: Apache-2.0
#include "replay/device_lanes.h"

#include <algorithm>
#include <array>

namespace hone::replay {
namespace {

using trace::kNoRow;
using trace::RowId;

// Typical figures, for traces that have none of their own: measured on an H200 from a launch call
// to its kernel on an idle stream, and between two queued kernels.
constexpr Nanos kTypicalLaunchLag = 6 * kMicrosecond;
constexpr Nanos kTypicalTurnaround = 1 * kMicrosecond;
// A start that is later than queue and launch explain by more than this was waiting for something.
constexpr Nanos kUnexplained = 5 * kMicrosecond;

// Times of older recorders are whole microseconds, and start and length are rounded each: work may
// seem to end that much after what waited for it began.
Nanos RoundingOf(const trace::DeviceWork& device) {
  for (RowId w = 0; w < device.size(); ++w) {
    if (device.start_ns[w] % kMicrosecond != 0 || device.duration_ns[w] % kMicrosecond != 0) {
      return 0;
    }
  }
  return kMicrosecond;
}

// A call this long was held back, or did much before it submitted its work (a CUDA graph).
constexpr Nanos kLongCall = 50 * kMicrosecond;

struct Candidate {  // device work of the window
  RowId work = kNoRow;
  bool late = false;              // submitted when its call ended, which launched_ns then is
  Nanos launched_ns = INT64_MIN;  // start of its call; INT64_MIN: not in the file
  Nanos before_ns = INT64_MIN;    // end of the work before it on its stream; INT64_MIN: none
};

// The lower quartile: kernels that wait for an event are among the upper ones.
Nanos QuartileOr(std::vector<Nanos> values, Nanos otherwise) {
  if (values.empty()) return otherwise;
  const auto quarter = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 4);
  std::nth_element(values.begin(), quarter, values.end());
  return *quarter;
}

class DeviceWriter {
 public:
  DeviceWriter(const GraphInput& input, const SharedDevice& shared, Draft& draft)
      : input_(input),
        draft_(draft),
        shared_(shared),
        rounding_(RoundingOf(input.trace.device)),
        lane_of_(input.trace.streams.size(), kNoLane) {}

  DeviceLanes Write() {
    Choose();
    recent_.assign(input_.trace.streams.size(), {kNoRow, kNoRow});
    Calibrate();
    recent_.assign(input_.trace.streams.size(), {kNoRow, kNoRow});
    for (const Candidate& candidate : chosen_) Add(candidate);
    return found_;
  }

 private:
  void Choose();
  void Calibrate();
  void Add(const Candidate& candidate);
  std::uint16_t LaneOf(RowId work, Nanos before);
  Place EndOfCall(RowId call) const;
  RowId EventSource(const Candidate& candidate) const;
  void Remember(RowId work) {
    std::array<RowId, 2>& recent = recent_[shared_.StreamOf(work)];
    recent = {recent[1], work};
  }

  const GraphInput& input_;
  Draft& draft_;
  const SharedDevice& shared_;
  const Nanos rounding_;
  DeviceLanes found_;
  std::vector<std::uint16_t> lane_of_;        // by stream
  std::vector<Candidate> chosen_;             // by start
  std::vector<std::array<RowId, 2>> recent_;  // by stream: the two works that started last
};

void DeviceWriter::Choose() {
  const trace::DeviceWork& device = input_.trace.device;
  // Work without a call that stands before the first with one was queued before recording began.
  const bool by_device = input_.steps.source == analyze::StepSource::kKernelPattern;
  std::vector<RowId> first_linked(input_.trace.streams.size(), kNoRow);
  bool any_linked = false;
  for (RowId w = 0; w < device.size(); ++w) {
    if (device.api[w] == kNoRow) continue;
    any_linked = true;
    RowId& first = first_linked[device.stream[w]];
    if (first == kNoRow) first = w;
  }
  std::vector<Nanos> stream_end(input_.trace.streams.size(), INT64_MIN);
  for (RowId w = 0; w < device.size(); ++w) {
    const RowId call = device.api[w];
    Nanos& before = stream_end[shared_.StreamOf(w)];
    const bool linked = call != kNoRow && draft_.of_call[call].lane != kNoLane;
    const bool foreign = call != kNoRow && !linked;  // launched outside the window or the process
    const bool inside =
        device.start_ns[w] >= draft_.window.begin_ns && device.start_ns[w] < draft_.window.end_ns;
    const bool queued_before = any_linked && w < first_linked[device.stream[w]];
    // Steps found in the device's own pattern are what it ran, whenever that was launched.
    const bool chosen = by_device ? inside : linked || (call == kNoRow && inside && !queued_before);
    if (chosen) {
      Candidate candidate{w, false, INT64_MIN, before};
      if (linked) {
        candidate.late = input_.trace.host.duration_ns[call] >= kLongCall &&
                         device.start_ns[w] >= input_.trace.host.end_ns(call);
        candidate.launched_ns =
            candidate.late ? input_.trace.host.end_ns(call) : input_.trace.host.start_ns[call];
      }
      chosen_.push_back(candidate);
      if (!linked) ++found_.unlinked;
    } else if (foreign && inside && input_.trace.host.start_ns[call] >= draft_.window.begin_ns) {
      ++found_.unlinked;
    }
    before = std::max(before, shared_.EndOf(w));
  }
}

void DeviceWriter::Calibrate() {
  const trace::DeviceWork& device = input_.trace.device;
  std::vector<Nanos> launch, turnaround;
  for (const Candidate& c : chosen_) {
    const Nanos idle_from = std::max(c.launched_ns, c.before_ns);
    // What may have waited for another stream tells neither: where streams take turns, all did.
    const bool waited = idle_from != INT64_MIN &&
                        shared_.StartOf(c.work) - idle_from > kUnexplained &&
                        EventSource(c) != kNoRow;
    Remember(c.work);
    if (c.launched_ns == INT64_MIN || c.before_ns == INT64_MIN || waited) continue;
    // Copies of pageable memory start when the host has staged them.
    if (device.kind[c.work] != trace::WorkKind::kKernel) continue;
    if (input_.classes.IsCommunication(c.work)) continue;  // waits for other ranks
    if (shared_.IsMoved(c.work)) continue;                 // follows at once because we say so
    const Nanos start = shared_.StartOf(c.work);
    if (c.launched_ns > c.before_ns + 20 * kMicrosecond && start >= c.launched_ns) {
      launch.push_back(start - c.launched_ns);
    } else if (c.launched_ns + 50 * kMicrosecond < c.before_ns && start >= c.before_ns) {
      turnaround.push_back(start - c.before_ns);
    }
  }
  found_.launch_lag_ns = QuartileOr(std::move(launch), kTypicalLaunchLag);
  found_.turnaround_ns = QuartileOr(std::move(turnaround), kTypicalTurnaround);
}

std::uint16_t DeviceWriter::LaneOf(RowId work, Nanos before) {
  const std::uint16_t stream = shared_.StreamOf(work);
  if (lane_of_[stream] == kNoLane) {
    if (draft_.lanes.size() >= kMostLanes) return kNoLane;
    lane_of_[stream] = static_cast<std::uint16_t>(draft_.lanes.size());
    const Nanos ready = before == INT64_MIN ? INT64_MIN : std::max(before, draft_.window.begin_ns);
    draft_.lanes.push_back({LaneKind::kStream, stream, ready, input_.trace.streams[stream].device});
    draft_.tasks.emplace_back();
  }
  return lane_of_[stream];
}

// The last task of the call: its end, where it has one of its own.
Place DeviceWriter::EndOfCall(RowId call) const {
  Place place = draft_.of_call[call];
  const std::vector<Task>& tasks = draft_.tasks[place.lane];
  const std::uint32_t next = place.index + 1;
  if (next < tasks.size() && tasks[next].kind == TaskKind::kWait &&
      tasks[next].row == tasks[place.index].row) {
    place.index = next;
  }
  return place;
}

// Work of another stream of the same device that ended after this one could have started, and last
// before it did.
RowId DeviceWriter::EventSource(const Candidate& c) const {
  const std::uint16_t own = shared_.StreamOf(c.work);
  const Nanos start = shared_.StartOf(c.work);
  const Nanos launched =
      c.launched_ns == INT64_MIN ? INT64_MIN : c.launched_ns + found_.launch_lag_ns;
  const Nanos possible = std::max(launched, c.before_ns);
  RowId best = kNoRow;
  for (std::size_t stream = 0; stream < recent_.size(); ++stream) {
    if (stream == own || input_.trace.streams[stream].device != input_.trace.streams[own].device) {
      continue;
    }
    for (const RowId work : recent_[stream]) {
      if (work == kNoRow) continue;
      const Nanos end = shared_.EndOf(work);
      // Rounding moves ends past starts, but what began at the same moment waited for the same.
      if (end > start && (end > start + rounding_ || shared_.StartOf(work) >= start)) continue;
      if (end <= possible) continue;
      if (best == kNoRow || end > shared_.EndOf(best)) best = work;
    }
  }
  return best;
}

void DeviceWriter::Add(const Candidate& c) {
  const trace::DeviceWork& device = input_.trace.device;
  const Nanos start = shared_.StartOf(c.work);
  const std::uint16_t lane = LaneOf(c.work, c.before_ns);
  if (lane == kNoLane) {
    ++found_.unlinked;
    return;
  }
  Task task;
  task.start_ns = start;
  task.duration_ns = shared_.DurationOf(c.work);
  task.row = c.work;
  task.lane = lane;
  switch (input_.classes[c.work]) {
    case analyze::WorkClass::kCommunication: task.kind = TaskKind::kCollective; break;
    case analyze::WorkClass::kCopy: task.kind = TaskKind::kCopy; break;
    case analyze::WorkClass::kCompute: task.kind = TaskKind::kKernel; break;
  }
  const Place place{lane, static_cast<std::uint32_t>(draft_.tasks[lane].size())};

  // How late it started against what held it: the later of the two gets the rest.
  const bool linked = c.launched_ns != INT64_MIN && start >= c.launched_ns;
  const bool follows = c.before_ns != INT64_MIN;
  Nanos launch_lag = linked ? std::min(found_.launch_lag_ns, start - c.launched_ns) : 0;
  Nanos turnaround = follows ? std::min(found_.turnaround_ns, start - c.before_ns) : 0;
  const Nanos by_launch = linked ? c.launched_ns + launch_lag : INT64_MIN;
  const Nanos by_stream = follows ? c.before_ns + turnaround : INT64_MIN;
  const Nanos explained = std::max(by_launch, by_stream);
  const RowId source =
      explained != INT64_MIN && start - explained > kUnexplained ? EventSource(c) : kNoRow;
  if (source != kNoRow) {
    draft_.edges.push_back({place, {}, source, false, start - shared_.EndOf(source)});
  } else if (by_launch >= by_stream) {
    if (linked) launch_lag = start - c.launched_ns;
  } else {
    turnaround = start - c.before_ns;
  }
  task.lag_ns = turnaround;
  if (linked) {
    DraftEdge edge;
    edge.to = place;
    edge.from = c.late ? EndOfCall(device.api[c.work]) : draft_.of_call[device.api[c.work]];
    edge.from_start = !c.late;
    edge.lag_ns = launch_lag;
    draft_.edges.push_back(edge);
  }
  draft_.tasks[lane].push_back(task);
  Remember(c.work);
}

}  // namespace

DeviceLanes AddDeviceLanes(const GraphInput& input, const SharedDevice& shared, Draft& draft) {
  return DeviceWriter(input, shared, draft).Write();
}

}  // namespace hone::replay
