// SPDX-License-Identifier: Apache-2.0
#include "replay/device_index.h"

#include <algorithm>

namespace hone::replay {
namespace {

using trace::kNoRow;
using trace::RowId;

// Clocks of host and device agree to a few microseconds at best: work may seem to end after the
// call that waited for it.
constexpr Nanos kClockSlack = 5 * kMicrosecond;
// The call returns when room is made, which is when the next work starts.
constexpr Nanos kUnseenSlack = 100 * kMicrosecond;

}  // namespace

DeviceIndex::DeviceIndex(const trace::Trace& trace, const analyze::ApiCalls& calls,
                         const SharedDevice& shared)
    : trace_(trace),
      calls_(calls),
      shared_(shared),
      groups_(trace),
      work_of_(trace.host.size(), kNoRow),
      by_stream_(trace.streams.size()),
      place_(trace.device.size()),
      ends_(trace.streams.size()),
      first_start_(groups_.size(), INT64_MAX) {
  const trace::DeviceWork& device = trace.device;
  for (RowId w = 0; w < device.size(); ++w) {
    const std::uint16_t stream = device.stream[w];
    ends_[stream].push_back({device.end_ns(w), w});
    Nanos& first_start = first_start_[groups_.Of(stream)];
    first_start = std::min(first_start, device.start_ns[w]);
    // Work whose launch the trace does not have was launched before it began, or after what ran
    // before it on its stream.
    std::vector<Launch>& launches = by_stream_[stream];
    const RowId call = device.api[w];
    if (call != kNoRow) work_of_[call] = w;
    launches.push_back({call != kNoRow     ? trace.host.start_ns[call]
                        : launches.empty() ? INT64_MIN
                                           : launches.back().launched_ns,
                        w});
  }
  const auto earlier = [](const Launch& a, const Launch& b) {
    return a.launched_ns < b.launched_ns;
  };
  // Mostly sorted already: streams run in launch order.
  for (auto* lists : {&by_stream_, &ends_}) {
    for (std::vector<Launch>& list : *lists) {
      if (!std::is_sorted(list.begin(), list.end(), earlier)) {
        std::stable_sort(list.begin(), list.end(), earlier);
      }
    }
  }
  for (const std::vector<Launch>& launches : by_stream_) {
    for (std::size_t i = 0; i < launches.size(); ++i) {
      place_[launches[i].work] = static_cast<std::uint32_t>(i);
    }
  }
  for (RowId s = 0; s < trace.syncs.size(); ++s) {
    if (trace.syncs.stream[s] == UINT16_MAX || trace.syncs.correlation[s] == 0) continue;
    sync_stream_.emplace(trace.syncs.correlation[s], trace.syncs.stream[s]);
  }
}

Nanos DeviceIndex::LaunchedAt(RowId work) const {
  return by_stream_[trace_.device.stream[work]][place_[work]].launched_ns;
}

RowId DeviceIndex::LastBefore(std::size_t stream, Nanos time) const {
  const std::vector<Launch>& launches = by_stream_[stream];
  // A stream without any launch in the trace says nothing about what was before what.
  if (launches.empty() || launches.back().launched_ns == INT64_MIN) return kNoRow;
  const auto after =
      std::upper_bound(launches.begin(), launches.end(), time,
                       [](Nanos t, const Launch& launch) { return t < launch.launched_ns; });
  return after == launches.begin() ? kNoRow : (after - 1)->work;
}

std::vector<WaitTarget> DeviceIndex::WaitsOf(RowId call) const {
  const trace::HostSlices& host = trace_.host;
  const Nanos begin = host.start_ns[call], end = host.end_ns(call) + kClockSlack;
  const auto target = [&](RowId work) {
    const Nanos done = trace_.device.end_ns(work);
    return WaitTarget{work, done > begin && done <= end};
  };
  if (work_of_[call] != kNoRow) return {target(work_of_[call])};

  std::vector<WaitTarget> last;
  const auto named = sync_stream_.find(host.id[call]);
  RowId latest_launch = kNoRow;
  for (std::size_t stream = 0; stream < by_stream_.size(); ++stream) {
    if (named != sync_stream_.end() && named->second != stream) continue;
    const RowId work = LastBefore(stream, begin);
    if (work == kNoRow) continue;
    last.push_back(target(work));
    if (latest_launch == kNoRow || LaunchedAt(work) > LaunchedAt(latest_launch)) {
      latest_launch = work;
    }
  }
  if (last.empty() || named != sync_stream_.end() ||
      analyze::IsDeviceWideSync(trace_.HostName(call)) ||
      calls_[call] == analyze::ApiClass::kFree) {
    return last;
  }
  // One stream, not named: the one whose end explains the return.
  WaitTarget best;
  for (const WaitTarget& candidate : last) {
    if (!candidate.bound) continue;
    if (best.work == kNoRow ||
        trace_.device.end_ns(candidate.work) > trace_.device.end_ns(best.work)) {
      best = candidate;
    }
  }
  if (best.work == kNoRow) best = {latest_launch, false};
  return {best};
}

RowId DeviceIndex::HeldBackBy(RowId call) const {
  if (work_of_[call] == kNoRow) return kNoRow;
  const Nanos begin = trace_.host.start_ns[call], end = trace_.host.end_ns(call);
  const auto last_inside = [&](std::size_t stream) {
    const std::vector<Launch>& ends = ends_[stream];
    const auto after =
        std::upper_bound(ends.begin(), ends.end(), end,
                         [](Nanos t, const Launch& launch) { return t < launch.launched_ns; });
    return after == ends.begin() || (after - 1)->launched_ns < begin ? kNoRow : (after - 1)->work;
  };
  const std::size_t own = trace_.device.stream[work_of_[call]];
  RowId latest = last_inside(own);
  if (latest != kNoRow || QueuedAt(call) == 0) return latest;
  // A queue holds waits for events of other streams too: then their work makes room.
  for (const std::uint16_t stream : groups_.Streams(groups_.Of(own))) {
    const RowId work = last_inside(stream);
    if (work == kNoRow) continue;
    if (latest == kNoRow || trace_.device.end_ns(work) > trace_.device.end_ns(latest))
      latest = work;
  }
  return latest;
}

bool DeviceIndex::HeldBackUnseen(RowId call) const {
  const RowId work = work_of_[call];
  if (work == kNoRow) return false;
  const Nanos first = first_start_[groups_.Of(trace_.device.stream[work])];
  return trace_.host.end_ns(call) <= first + kUnseenSlack && trace_.device.start_ns[work] > first;
}

Repeated DeviceIndex::InWindow(RowId work, trace::Interval window) const {
  const std::vector<Launch>& launches = by_stream_[trace_.device.stream[work]];
  const auto from = [&](Nanos time) {
    return static_cast<std::size_t>(
        std::lower_bound(launches.begin(), launches.end(), time,
                         [](const Launch& launch, Nanos t) { return launch.launched_ns < t; }) -
        launches.begin());
  };
  const std::size_t first = from(window.begin_ns), end = from(window.end_ns);
  if (place_[work] >= first) return {work, 0};
  if (first == end) return {};
  const std::size_t before = first - place_[work] - 1, in_window = end - first;
  return {launches[end - 1 - before % in_window].work, before / in_window + 1};
}

std::size_t DeviceIndex::QueuedAt(RowId call) const {
  if (work_of_[call] == kNoRow) return 0;
  const std::size_t stream = trace_.device.stream[work_of_[call]];
  const auto before = [&](const std::vector<Launch>& rows) {
    const auto at =
        std::lower_bound(rows.begin(), rows.end(), trace_.host.start_ns[call],
                         [](const Launch& launch, Nanos t) { return launch.launched_ns < t; });
    return static_cast<std::size_t>(at - rows.begin());
  };
  const std::size_t launched = before(by_stream_[stream]), ended = before(ends_[stream]);
  return launched - std::min(launched, ended);
}

}  // namespace hone::replay
