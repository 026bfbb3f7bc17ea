// SPDX-License-Identifier: Apache-2.0
#include "trace/plausible.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/text.h"

namespace hone::trace {
namespace {

// Far: over a thousand times as long away as nearly all events span, and over ten minutes. What a
// program does minutes before the part that was recorded in full is real (nsys sees its start).
constexpr Nanos kFarTimes = 1'000;
constexpr Nanos kFarLeast = 600 * kSecond;
// So few on either side; more is a part of the recording.
constexpr std::size_t kFarPart = 100;

// A host slice that goes on a thousand times as long as everything else and over a minute; less is
// a program that did something short first.
constexpr Nanos kEndTimes = 1'000;
constexpr Nanos kEndLeast = 60 * kSecond;

// Clocks of host and device that are converted into each other may differ a little; in 29 recordings
// of torch.profiler on three kinds of devices no work starts before its call at all.
constexpr Nanos kSkew = 10'000;

template <typename T>
void Keep(Column<T>& column, const std::vector<bool>& keep) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < column.size(); ++i) {
    if (keep[i]) column[kept++] = column[i];
  }
  column.resize(kept);
}

void Keep(HostSlices& host, const std::vector<bool>& keep) {
  Keep(host.start_ns, keep);
  Keep(host.duration_ns, keep);
  Keep(host.name, keep);
  Keep(host.kind, keep);
  Keep(host.thread, keep);
  Keep(host.id, keep);
  Keep(host.link, keep);
  Keep(host.detail, keep);
}

void Keep(DeviceWork& device, const std::vector<bool>& keep) {
  Keep(device.start_ns, keep);
  Keep(device.duration_ns, keep);
  Keep(device.name, keep);
  Keep(device.kind, keep);
  Keep(device.stream, keep);
  Keep(device.correlation, keep);
  Keep(device.external_id, keep);
  Keep(device.bytes, keep);
  Keep(device.direction, keep);
  Keep(device.source, keep);
  Keep(device.target, keep);
  Keep(device.launch, keep);
  Keep(device.graph, keep);
  Keep(device.collective, keep);
}

struct Range {
  Nanos first = INT64_MIN, last = INT64_MAX;
  bool Holds(Nanos time) const { return time >= first && time <= last; }
};

// Where events can be; everything where that cannot be said.
Range Near(const Trace& trace) {
  const auto [host_low, host_high] =
      std::minmax_element(trace.host.start_ns.begin(), trace.host.start_ns.end());
  const auto [work_low, work_high] =
      std::minmax_element(trace.device.start_ns.begin(), trace.device.start_ns.end());
  const bool no_host = trace.host.size() == 0, no_work = trace.device.size() == 0;
  if (no_host && no_work) return {};
  const Nanos low = no_host ? *work_low : no_work ? *host_low : std::min(*host_low, *work_low);
  const Nanos high = no_host ? *work_high : no_work ? *host_high : std::max(*host_high, *work_high);
  if (high - low <= kFarLeast) return {};  // so short a trace holds nothing far away

  std::vector<Nanos> starts(trace.host.start_ns.begin(), trace.host.start_ns.end());
  starts.insert(starts.end(), trace.device.start_ns.begin(), trace.device.start_ns.end());
  const std::size_t few = std::max<std::size_t>(1, starts.size() / kFarPart);
  if (starts.size() < 4 * few) return {};
  const auto early = starts.begin() + static_cast<std::ptrdiff_t>(few);
  const auto late = starts.end() - 1 - static_cast<std::ptrdiff_t>(few);
  std::nth_element(starts.begin(), early, starts.end());
  std::nth_element(early, late, starts.end());
  const Nanos span = *late - *early;
  const Nanos far =
      span > INT64_MAX / 4 / kFarTimes ? INT64_MAX / 4 : std::max(kFarLeast, kFarTimes * span);
  return {*early - far, *late + far};
}

}  // namespace

void DropFarTimes(Trace& trace) {
  const Range near = Near(trace);
  const auto drop = [&](auto& rows, const auto& name) {
    std::vector<bool> keep;
    for (RowId i = 0; i < rows.size(); ++i) {
      if (near.Holds(rows.start_ns[i])) continue;
      if (keep.empty()) keep.assign(rows.size(), true);
      keep[i] = false;
      const Nanos away = rows.start_ns[i] < near.first ? near.first - rows.start_ns[i]
                                                       : rows.start_ns[i] - near.last;
      trace.losses.Add(LossKind::kFarTime, 1, 0,
                       std::string(name(i)) + " over " + HumanDuration(away) + " away");
    }
    if (!keep.empty()) Keep(rows, keep);
  };
  drop(trace.host, [&](RowId i) { return trace.HostName(i); });
  drop(trace.device, [&](RowId i) { return trace.DeviceName(i); });
}

void CutImplausible(Trace& trace) {
  HostSlices& host = trace.host;
  DeviceWork& device = trace.device;
  if (host.size() + device.size() < 3) return;
  Nanos first = INT64_MAX, last_start = INT64_MIN;
  for (const Nanos start : host.start_ns) {
    first = std::min(first, start);
    last_start = std::max(last_start, start);
  }
  for (const Nanos start : device.start_ns) {
    first = std::min(first, start);
    last_start = std::max(last_start, start);
  }

  // A recorder's error (an end time of another clock); one such row would decide every sum. Ten
  // times everything else, and reaching past the end of all other records by their whole span: no
  // real kernel does both. A host that waits for the device goes on as long as that.
  const Nanos span = last_start - first;
  const auto late = [&](Nanos end, Nanos after) { return end > after && end - after > span; };
  const Nanos limit =
      span > INT64_MAX / 4 / kEndTimes ? INT64_MAX / 4 : std::max(kEndLeast, kEndTimes * span);
  Nanos last_end = last_start, plausible_ns = 0;
  for (RowId i = 0; i < host.size(); ++i) {
    if (host.end_ns(i) - last_start <= limit) last_end = std::max(last_end, host.end_ns(i));
  }
  for (RowId i = 0; i < device.size(); ++i) {
    if (late(device.end_ns(i), last_end)) continue;
    plausible_ns += device.duration_ns[i];
  }
  for (RowId i = 0; i < device.size() && device.size() >= 3; ++i) {
    if (!late(device.end_ns(i), last_end) || device.duration_ns[i] / 10 <= plausible_ns) continue;
    trace.losses.Add(LossKind::kImplausibleDuration, 1, device.duration_ns[i], trace.DeviceName(i));
    device.duration_ns[i] = 0;
  }
  for (RowId i = 0; i < device.size(); ++i) last_end = std::max(last_end, device.end_ns(i));
  for (RowId i = 0; i < host.size(); ++i) {
    if (host.end_ns(i) <= last_end || host.end_ns(i) - last_start <= limit) continue;
    trace.losses.Add(LossKind::kImplausibleEnd, 1, 0,
                     std::string(trace.HostName(i)) + " of " + HumanDuration(host.duration_ns[i]));
    host.duration_ns[i] = last_end - host.start_ns[i];
  }
}

void CountEarlyStarts(Trace& trace) {
  const DeviceWork& device = trace.device;
  std::uint64_t count = 0;
  Nanos time = 0, most = 0;
  for (RowId i = 0; i < device.size(); ++i) {
    if (device.api[i] == kNoRow) continue;
    const Nanos early = trace.host.start_ns[device.api[i]] - device.start_ns[i];
    if (early <= kSkew) continue;
    ++count;
    time += device.duration_ns[i];
    most = std::max(most, early);
  }
  trace.losses.Add(LossKind::kStartsBeforeLaunch, count, time, "by up to " + HumanDuration(most));
}

}  // namespace hone::trace
