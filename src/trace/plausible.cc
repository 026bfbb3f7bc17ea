// SPDX-License-Identifier: Apache-2.0
#include "trace/plausible.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/text.h"

namespace hone::trace {
namespace {

// Far is another clock: over a thousand times as long away as nearly all events span, and over a
// day. A server that waits for its next request, or for its first, is idle for hours.
constexpr Nanos kFarTimes = 1'000;
constexpr Nanos kFarLeast = 86'400 * kSecond;
// So few on either side; more is a part of the recording.
constexpr std::size_t kFarPart = 100;

// A host slice that goes on a thousand times as long as everything else and over a minute; less is
// a program that did something short first.
constexpr Nanos kEndTimes = 1'000;
constexpr Nanos kEndLeast = 60 * kSecond;
// Ends that agree, as a part of the length: what waits ends soon after what it waits for.
constexpr Nanos kAgreePart = 100;
// By as much slices overrun the one around them (see Nest).
constexpr Nanos kRounding = 1'000;

// Clocks of host and device that are converted into each other may differ a little; in 29
// recordings of torch.profiler on three kinds of devices no work starts before its call at all.
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

// Where nearly all events begin, and how far away others may.
struct Range {
  Nanos first = 0, last = 0, far = INT64_MAX;
  Nanos Away(Nanos time) const {
    return time < first ? first - time : time > last ? time - last : 0;
  }
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
  return {*early, *late, far};
}

// Rows that go on long after all others end. The recorder may have written a wrong end time, and
// one such row would decide every sum; or the program did hang, and then others saw it too.
class LongAfter {
 public:
  explicit LongAfter(Trace& trace) : trace_(trace), host_(trace.host), device_(trace.device) {
    for (const Nanos start : host_.start_ns) Begins(start);
    for (const Nanos start : device_.start_ns) Begins(start);
    last_end_ = last_start_;
    Collect();
  }

  // Whose ends agree with others stay, and what they span is as good as the rest: others may be
  // long for the rest and short for these.
  void KeepWhatOthersSaw() {
    if (late_host_.empty() && late_work_.empty()) return;
    DropCrossing();
    DropOverlapped();
    std::vector<Nanos> ends, work_ends;
    for (const RowId i : believable_host_) ends.push_back(host_.end_ns(i));
    for (const RowId i : believable_work_) work_ends.push_back(device_.end_ns(i));
    std::sort(ends.begin(), ends.end());
    std::sort(work_ends.begin(), work_ends.end());
    Nanos seen = INT64_MIN;
    for (const RowId i : believable_host_) {
      const Nanos end = host_.end_ns(i), near = host_.duration_ns[i] / kAgreePart;
      if (Within(ends, end - near, end + near) > 1 ||
          Within(work_ends, end - near, end + near) > 0) {
        seen = std::max(seen, end);
      }
    }
    for (const RowId i : believable_work_) {  // the host may wait for more than that
      if (!ends.empty() && ends.back() >= device_.end_ns(i))
        seen = std::max(seen, device_.end_ns(i));
    }
    if (seen == INT64_MIN) return;
    last_end_ = std::max(last_end_, seen);
    late_host_.clear();
    late_work_.clear();
    Collect();
  }

  void Cut() {
    Nanos plausible_ns = 0;
    std::size_t late = 0;
    for (RowId i = 0; i < device_.size(); ++i) {
      const bool is_late = late < late_work_.size() && late_work_[late] == i;
      late += is_late ? 1 : 0;
      plausible_ns += is_late ? 0 : device_.duration_ns[i];
    }
    for (const RowId i : late_work_) {
      // Ten times everything else, and reaching past the end of all other records by their whole
      // span: no real kernel that nobody waits for does both.
      if (device_.size() < 3 || device_.duration_ns[i] / 10 <= plausible_ns) continue;
      trace_.losses.Add(LossKind::kImplausibleDuration, 1, device_.duration_ns[i],
                        trace_.DeviceName(i));
      device_.duration_ns[i] = 0;
    }
    for (RowId i = 0; i < device_.size(); ++i) last_end_ = std::max(last_end_, device_.end_ns(i));
    for (const RowId i : late_host_) {
      if (host_.end_ns(i) <= last_end_) continue;
      trace_.losses.Add(
          LossKind::kImplausibleEnd, 1, 0,
          std::string(trace_.HostName(i)) + " of " + HumanDuration(host_.duration_ns[i]));
      host_.duration_ns[i] = last_end_ - host_.start_ns[i];
    }
  }

 private:
  void Begins(Nanos start) {
    first_ = std::min(first_, start);
    last_start_ = std::max(last_start_, start);
  }

  void Collect() {
    const Nanos known_end = last_end_, host_span = known_end - first_;
    const Nanos limit = host_span > INT64_MAX / 4 / kEndTimes
                            ? INT64_MAX / 4
                            : std::max(kEndLeast, kEndTimes * host_span);
    for (RowId i = 0; i < host_.size(); ++i) {
      if (host_.end_ns(i) - known_end > limit) {
        late_host_.push_back(i);
      } else {
        last_end_ = std::max(last_end_, host_.end_ns(i));
      }
    }
    const Nanos span = std::max(last_start_, known_end) - first_;
    for (RowId i = 0; i < device_.size(); ++i) {
      const Nanos end = device_.end_ns(i);
      if (end > last_end_ && end - last_end_ > span) late_work_.push_back(i);
    }
  }

  // A slice that outlives one around it, which others end, has a wrong end.
  void DropCrossing() {
    struct Late {
      RowId thread;
      Nanos start_ns;
      RowId row;
      bool operator<(const Late& other) const {
        return thread != other.thread ? thread < other.thread : start_ns < other.start_ns;
      }
    };
    std::vector<Late> late;
    std::vector<bool> is_late(host_.size(), false);
    for (const RowId i : late_host_) {
      late.push_back({host_.thread[i], host_.start_ns[i], i});
      is_late[i] = true;
    }
    std::sort(late.begin(), late.end());
    std::vector<int> around(late.size() + 1, 0);  // how many more are around this one
    for (RowId j = 0; j < host_.size(); ++j) {
      const Nanos start = host_.start_ns[j], end = host_.end_ns(j) - kRounding;
      if (is_late[j] || end <= start) continue;
      const auto from = std::upper_bound(late.begin(), late.end(), Late{host_.thread[j], start, 0});
      const auto to = std::lower_bound(late.begin(), late.end(), Late{host_.thread[j], end, 0});
      if (from >= to) continue;
      ++around[static_cast<std::size_t>(from - late.begin())];
      --around[static_cast<std::size_t>(to - late.begin())];
    }
    believable_host_.clear();
    int now = 0;
    for (std::size_t i = 0; i < late.size(); ++i) {
      now += around[i];
      if (now == 0) believable_host_.push_back(late[i].row);
    }
  }

  // A stream does one thing after the other.
  void DropOverlapped() {
    std::vector<Nanos> last(trace_.streams.size(), INT64_MIN);
    for (RowId i = 0; i < device_.size(); ++i) {
      last[device_.stream[i]] = std::max(last[device_.stream[i]], device_.start_ns[i]);
    }
    believable_work_.clear();
    for (const RowId i : late_work_) {
      if (device_.start_ns[i] == last[device_.stream[i]]) believable_work_.push_back(i);
    }
  }

  static std::ptrdiff_t Within(const std::vector<Nanos>& sorted, Nanos from, Nanos to) {
    return std::upper_bound(sorted.begin(), sorted.end(), to) -
           std::lower_bound(sorted.begin(), sorted.end(), from);
  }

  Trace& trace_;
  HostSlices& host_;
  DeviceWork& device_;
  Nanos first_ = INT64_MAX, last_start_ = INT64_MIN;
  Nanos last_end_ = INT64_MIN;  // of what can be true
  std::vector<RowId> late_host_, late_work_;
  std::vector<RowId> believable_host_, believable_work_;  // of these: nothing speaks against them
};

}  // namespace

void DropFarTimes(Trace& trace) {
  const Range near = Near(trace);
  const auto drop = [&](auto& rows, const auto& name) {
    std::vector<bool> keep;
    for (RowId i = 0; i < rows.size(); ++i) {
      const Nanos away = near.Away(rows.start_ns[i]);
      if (away <= near.far) continue;
      if (keep.empty()) keep.assign(rows.size(), true);
      keep[i] = false;
      trace.losses.Add(LossKind::kFarTime, 1, 0,
                       std::string(name(i)) + " " + HumanDuration(away) + " away");
    }
    if (!keep.empty()) Keep(rows, keep);
  };
  drop(trace.host, [&](RowId i) { return trace.HostName(i); });
  drop(trace.device, [&](RowId i) { return trace.DeviceName(i); });
}

void CutImplausible(Trace& trace) {
  if (trace.host.size() + trace.device.size() < 3) return;
  LongAfter rows(trace);
  rows.KeepWhatOthersSaw();
  rows.Cut();
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
