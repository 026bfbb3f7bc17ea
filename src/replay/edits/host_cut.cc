// SPDX-License-Identifier: Apache-2.0
#include "replay/edits/host_cut.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace hone::replay {

HostCut::HostCut(const Graph& graph, std::vector<HostSpan> spans) {
  std::sort(spans.begin(), spans.end(), [](const HostSpan& a, const HostSpan& b) {
    return std::tie(a.lane, a.span.begin_ns, b.span.end_ns) <
           std::tie(b.lane, b.span.begin_ns, a.span.end_ns);
  });
  for (HostSpan span : spans) {
    if (!spans_.empty() && spans_.back().lane == span.lane) {
      span.span.begin_ns = std::max(span.span.begin_ns, spans_.back().span.end_ns);
    }
    if (span.span.length() > 0) spans_.push_back(span);
  }
  first_.assign(graph.lanes.size() + 1, 0);
  for (const HostSpan& span : spans_) ++first_[span.lane + 1U];
  for (std::size_t lane = 0; lane < graph.lanes.size(); ++lane) first_[lane + 1] += first_[lane];
  host_ns_.assign(spans_.size(), 0);
  ForEachPart(graph, [&](TaskId, std::size_t span, Nanos length) { host_ns_[span] += length; });
}

// Tasks of a lane are in time order and do not overlap, and neither do spans: one cursor a lane.
template <typename Visit>
void HostCut::ForEachPart(const Graph& graph, Visit&& visit) const {
  if (spans_.empty()) return;
  std::vector<std::size_t> at(first_.begin(), first_.end() - 1);
  for (TaskId t = 0; t < graph.tasks.size(); ++t) {
    const Task& task = graph.tasks[t];
    if (task.duration_ns <= 0 || graph.lanes[task.lane].kind != LaneKind::kThread) continue;
    const std::size_t last = first_[task.lane + 1U];
    const Nanos end = task.start_ns + task.duration_ns;
    std::size_t& cursor = at[task.lane];
    while (cursor < last && spans_[cursor].span.end_ns <= task.start_ns) ++cursor;
    for (std::size_t s = cursor; s < last && spans_[s].span.begin_ns < end; ++s) {
      const Nanos begin = std::max(task.start_ns, spans_[s].span.begin_ns);
      visit(t, s, std::min(end, spans_[s].span.end_ns) - begin);
    }
  }
}

double HostCut::KeptNs(std::size_t span) const {
  return std::max(static_cast<double>(spans_[span].keep_ns),
                  spans_[span].keep_share * static_cast<double>(host_ns_[span]));
}

Nanos HostCut::gone_ns() const {
  Nanos gone = 0;
  for (std::size_t s = 0; s < spans_.size(); ++s) {
    gone += std::max<Nanos>(0, host_ns_[s] - static_cast<Nanos>(KeptNs(s)));
  }
  return gone;
}

void HostCut::Apply(const Graph& graph, double strength, Plan& plan) const {
  std::vector<double> gone(graph.tasks.size(), 0);  // share of the task that goes
  ForEachPart(graph, [&](TaskId t, std::size_t s, Nanos length) {
    const double kept = KeptNs(s);
    if (static_cast<double>(host_ns_[s]) <= kept) return;
    const double share = 1.0 - kept / static_cast<double>(host_ns_[s]);
    gone[t] += strength * share * static_cast<double>(length) /
               static_cast<double>(graph.tasks[t].duration_ns);
  });
  for (TaskId t = 0; t < graph.tasks.size(); ++t) {
    if (gone[t] <= 0) continue;
    plan.duration_ns[t] =
        std::llround(static_cast<double>(plan.duration_ns[t]) * std::max(0.0, 1.0 - gone[t]));
  }
}

bool HostCut::Contains(std::uint16_t lane, Nanos time) const {
  if (spans_.empty() || lane + 1U >= first_.size()) return false;
  const auto begin = spans_.begin() + static_cast<std::ptrdiff_t>(first_[lane]);
  const auto end = spans_.begin() + static_cast<std::ptrdiff_t>(first_[lane + 1U]);
  const auto after = std::upper_bound(
      begin, end, time, [](Nanos t, const HostSpan& span) { return t < span.span.begin_ns; });
  return after != begin && time < (after - 1)->span.end_ns;
}

void HostCut::DropWaits(const Graph& graph, Plan& plan) const {
  for (TaskId t = 0; t < graph.tasks.size(); ++t) {
    const Task& task = graph.tasks[t];
    if (graph.lanes[task.lane].kind != LaneKind::kThread) continue;
    if (graph.first_edge[t] == graph.first_edge[t + 1]) continue;
    // A wait stands at the end of its call, which may be the end of the span.
    if (task.kind == TaskKind::kWait && Contains(task.lane, task.start_ns - 1)) plan.DropWait(t);
  }
}

}  // namespace hone::replay
