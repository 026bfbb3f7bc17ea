// SPDX-License-Identifier: Apache-2.0
// HostCut: stretches of host code that an edit shortens, all of them in one pass over the tasks.
#pragma once

#include <cstdint>
#include <vector>

#include "replay/graph.h"
#include "replay/plan.h"
#include "trace/interval.h"

namespace hone::replay {

struct HostSpan {
  std::uint16_t lane = 0;
  trace::Interval span;  // measured time
  // What is left of the host's own time inside: the larger of the two.
  Nanos keep_ns = 0;
  double keep_share = 0;
};

class HostCut {
 public:
  HostCut() = default;
  // Any order; where spans of one lane overlap, the earlier one takes the time. O(n log n + tasks).
  HostCut(const Graph& graph, std::vector<HostSpan> spans);

  bool empty() const { return spans_.empty(); }
  const std::vector<HostSpan>& spans() const { return spans_; }  // by lane, then time
  // Host time inside each span: waiting for the device and for other threads left out.
  const std::vector<Nanos>& host_ns() const { return host_ns_; }
  // What goes away when it is applied in full, all spans together.
  Nanos gone_ns() const;

  // Takes `strength` (0..1) of what can go out of the host tasks; calls are host tasks too, their
  // waits and the device's work stay.
  // What the plan has settled is left alone. O(tasks + spans + settled).
  void Apply(const Graph& graph, double strength, Plan& plan) const;
  // Other edits leave the spans alone from here on; one edit of a plan may say so.
  void Settle(Plan& plan) const;

  // Whether a moment of a lane lies inside a span. O(log spans).
  bool Contains(std::uint16_t lane, Nanos time) const;
  // Calls that wait inside a span return at once. O(tasks · log spans).
  void DropWaits(const Graph& graph, Plan& plan) const;

 private:
  double KeptNs(std::size_t span, double host_ns) const;
  void ApplyBesideSettled(const Graph& graph, double strength, Plan& plan) const;
  Nanos Within(std::uint16_t lane, trace::Interval time) const;  // of it, what lies in spans
  template <typename Visit>
  void ForEachPart(const Graph& graph, Visit&& visit) const;

  std::vector<HostSpan> spans_;
  std::vector<std::size_t> first_;  // by lane, and one past the last
  std::vector<Nanos> host_ns_;      // by span
};

}  // namespace hone::replay
