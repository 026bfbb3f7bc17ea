// SPDX-License-Identifier: Apache-2.0
#include "import/hone/clock_map.h"

#include <algorithm>
#include <cmath>

#include "trace/builder.h"

namespace hone::importer::hone_file {
namespace {

// Beyond this no clock of ours counts, and differences stay far from overflow.
constexpr std::int64_t kMost = std::int64_t{1} << 62;
constexpr double kLatest = static_cast<double>(trace::Builder::kLatest);

bool Usable(std::int64_t value) { return value > -kMost && value < kMost; }

}  // namespace

void ClockMap::Add(std::int64_t ticks, std::int64_t monotonic_ns, std::int64_t realtime_ns) {
  if (!Usable(ticks) || monotonic_ns <= -trace::Builder::kLatest ||
      monotonic_ns >= trace::Builder::kLatest) {
    return;
  }
  if (anchors_.empty()) {
    const bool known = realtime_ns > 0 && realtime_ns < trace::Builder::kLatest;
    epoch_offset_ns_ = known ? realtime_ns - monotonic_ns : 0;
  } else {
    Anchor& before = anchors_.back();
    if (ticks <= before.ticks || monotonic_ns <= before.monotonic_ns) return;
    before.nanos_per_tick = static_cast<double>(monotonic_ns - before.monotonic_ns) /
                            static_cast<double>(ticks - before.ticks);
  }
  anchors_.push_back({ticks, monotonic_ns, 1});
  if (anchors_.size() > 1) {
    anchors_.back().nanos_per_tick = anchors_[anchors_.size() - 2].nanos_per_tick;
  }
}

double ClockMap::Rate() const {
  if (anchors_.size() < 2) return 0;
  const Anchor &first = anchors_.front(), &last = anchors_.back();
  return static_cast<double>(last.monotonic_ns - first.monotonic_ns) /
         static_cast<double>(last.ticks - first.ticks);
}

Nanos ClockMap::ToNanos(std::int64_t ticks) const {
  if (anchors_.empty()) return ticks;
  const auto inside = [&](std::size_t i) {
    return (i == 0 || anchors_[i].ticks <= ticks) &&
           (i + 1 == anchors_.size() || ticks < anchors_[i + 1].ticks);
  };
  if (!inside(last_)) {
    const auto after =
        std::upper_bound(anchors_.begin(), anchors_.end(), ticks,
                         [](std::int64_t t, const Anchor& anchor) { return t < anchor.ticks; });
    last_ = after == anchors_.begin() ? 0 : static_cast<std::size_t>(after - anchors_.begin()) - 1;
  }
  const Anchor& anchor = anchors_[last_];
  const double rate = anchors_.size() == 1 ? lone_rate_ : anchor.nanos_per_tick;
  // Between anchors, a second apart, a double has nine digits to spare below the nanosecond.
  const double since = Usable(ticks) ? static_cast<double>(ticks - anchor.ticks) * rate
                                     : std::copysign(2 * kLatest, static_cast<double>(ticks));
  const double time = static_cast<double>(anchor.monotonic_ns) + since;
  if (!(std::abs(time) < kLatest))
    return time < 0 ? -trace::Builder::kLatest : trace::Builder::kLatest;
  return anchor.monotonic_ns + std::llround(since);
}

}  // namespace hone::importer::hone_file
