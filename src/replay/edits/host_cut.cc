// SPDX-License-Identifier: Apache-2.0
#include "replay/edits/host_cut.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

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

double HostCut::KeptNs(std::size_t span, double host_ns) const {
  return std::max(static_cast<double>(spans_[span].keep_ns), spans_[span].keep_share * host_ns);
}

Nanos HostCut::gone_ns() const {
  Nanos gone = 0;
  for (std::size_t s = 0; s < spans_.size(); ++s) {
    const double kept = KeptNs(s, static_cast<double>(host_ns_[s]));
    gone += std::max<Nanos>(0, host_ns_[s] - static_cast<Nanos>(kept));
  }
  return gone;
}

void HostCut::Apply(const Graph& graph, double strength, Plan& plan) const {
  if (!plan.settled.empty()) return ApplyBesideSettled(graph, strength, plan);
  std::vector<double> gone(graph.tasks.size(), 0);  // share of the task that goes
  ForEachPart(graph, [&](TaskId t, std::size_t s, Nanos length) {
    const auto host = static_cast<double>(host_ns_[s]);
    const double kept = KeptNs(s, host);
    if (host <= kept) return;
    const double share = 1.0 - kept / host;
    gone[t] += strength * share * static_cast<double>(length) /
               static_cast<double>(graph.tasks[t].duration_ns);
  });
  for (TaskId t = 0; t < graph.tasks.size(); ++t) {
    if (gone[t] <= 0) continue;
    plan.duration_ns[t] =
        std::llround(static_cast<double>(plan.duration_ns[t]) * std::max(0.0, 1.0 - gone[t]));
  }
}

void HostCut::ApplyBesideSettled(const Graph& graph, double strength, Plan& plan) const {
  std::vector<HostSpan> places;
  for (const Settled& settled : plan.settled) places.push_back({settled.lane, settled.span});
  const HostCut taken(graph, std::move(places));
  std::vector<double> left_of(graph.tasks.size());  // as measured, but for what went there
  std::vector<double> beside(spans_.size(), 0);     // of each span, what lies beside it
  for (TaskId t = 0; t < graph.tasks.size(); ++t) {
    left_of[t] = static_cast<double>(graph.tasks[t].duration_ns);
  }
  taken.ForEachPart(graph, [&](TaskId t, std::size_t s, Nanos length) {
    const double share = static_cast<double>(plan.settled[s].gone_ns) /
                         static_cast<double>(std::max<Nanos>(taken.host_ns_[s], 1));
    left_of[t] -= share * static_cast<double>(length);
  });
  struct Part {
    TaskId task;
    std::size_t span;
    double ns;
  };
  std::vector<Part> parts;
  ForEachPart(graph, [&](TaskId t, std::size_t s, Nanos length) {
    const Task& task = graph.tasks[t];
    const Nanos begin = std::max(task.start_ns, spans_[s].span.begin_ns);
    const Nanos own = length - taken.Within(task.lane, {begin, begin + length});
    parts.push_back({t, s, static_cast<double>(own)});
    beside[s] += static_cast<double>(own);
  });
  std::vector<double> gone(graph.tasks.size(), 0);
  for (const Part& part : parts) {
    const double kept = KeptNs(part.span, beside[part.span]);
    if (beside[part.span] <= kept || left_of[part.task] <= 0) continue;
    gone[part.task] += strength * (1.0 - kept / beside[part.span]) * part.ns / left_of[part.task];
  }
  for (TaskId t = 0; t < graph.tasks.size(); ++t) {
    if (gone[t] <= 0) continue;
    plan.duration_ns[t] =
        std::llround(static_cast<double>(plan.duration_ns[t]) * std::max(0.0, 1.0 - gone[t]));
  }
}

Nanos HostCut::Within(std::uint16_t lane, trace::Interval time) const {
  const auto begin = spans_.begin() + static_cast<std::ptrdiff_t>(first_[lane]);
  const auto end = spans_.begin() + static_cast<std::ptrdiff_t>(first_[lane + 1U]);
  auto span = std::partition_point(
      begin, end, [&](const HostSpan& s) { return s.span.end_ns <= time.begin_ns; });
  Nanos sum = 0;
  for (; span != end && span->span.begin_ns < time.end_ns; ++span) {
    sum += std::min(time.end_ns, span->span.end_ns) - std::max(time.begin_ns, span->span.begin_ns);
  }
  return sum;
}

void HostCut::Settle(Plan& plan) const {
  for (std::size_t s = 0; s < spans_.size(); ++s) {
    const auto host = static_cast<double>(host_ns_[s]);
    const double gone = std::max(0.0, host - KeptNs(s, host));
    plan.settled.push_back({spans_[s].lane, spans_[s].span, std::llround(gone)});
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
