// SPDX-License-Identifier: Apache-2.0
#include "replay/handoff.h"

#include <algorithm>
#include <optional>

namespace hone::replay {
namespace {

using trace::Interval;

// The last thing that `other` finished inside the pause, if it began there and nothing of `other`
// runs when the pause ends.
std::optional<Nanos> FinishedInside(const std::vector<Interval>& other, Interval pause) {
  const auto after = std::upper_bound(
      other.begin(), other.end(), pause.end_ns,
      [](Nanos time, const Interval& activity) { return time < activity.begin_ns; });
  if (after == other.begin()) return std::nullopt;
  const Interval& last = *(after - 1);
  if (last.end_ns > pause.end_ns || last.begin_ns < pause.begin_ns) return std::nullopt;
  return last.end_ns;
}

}  // namespace

std::vector<std::vector<Handoff>> FindHandoffs(const std::vector<std::vector<Interval>>& activities,
                                               Nanos begin_ns) {
  std::vector<std::vector<Handoff>> found(activities.size());
  for (std::size_t thread = 0; thread < activities.size(); ++thread) {
    Nanos idle_from = begin_ns;
    for (const Interval& activity : activities[thread]) {
      const Interval pause{idle_from, activity.begin_ns};
      idle_from = std::max(idle_from, activity.end_ns);
      if (pause.length() <= 0) continue;
      Handoff best;
      best.released_ns = INT64_MIN;
      for (std::size_t other = 0; other < activities.size(); ++other) {
        if (other == thread) continue;
        const std::optional<Nanos> end = FinishedInside(activities[other], pause);
        if (!end || *end <= best.released_ns) continue;
        best = {pause.begin_ns, *end, pause.end_ns, static_cast<std::uint16_t>(other)};
      }
      if (best.released_ns != INT64_MIN) found[thread].push_back(best);
    }
  }
  return found;
}

}  // namespace hone::replay
