// SPDX-License-Identifier: Apache-2.0
#include "report/html/row_window.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/text.h"

namespace hone::report {
namespace {

using trace::Interval;
using trace::RowId;

template <typename Visit>
void VisitRows(const trace::Trace& trace, Visit&& visit) {
  for (RowId i = 0; i < trace.host.size(); ++i) {
    if (IsShownKind(trace.host.kind[i])) visit(trace.host.start_ns[i], trace.host.end_ns(i));
  }
  for (RowId i = 0; i < trace.device.size(); ++i) {
    visit(trace.device.start_ns[i], trace.device.end_ns(i));
  }
}

// Where the window may end: after each steady step, of host and device; without steps, after each
// hundredth of the trace.
std::vector<Nanos> PossibleEnds(const analyze::Steps& steps, Interval whole) {
  std::vector<Nanos> ends;
  for (const analyze::Step& step : steps.steps) {
    if (!step.warm_up) ends.push_back(std::max(step.span.end_ns, step.host_span.end_ns));
  }
  if (!ends.empty()) return ends;
  constexpr Nanos kParts = 100;
  for (Nanos part = 1; part < kParts; ++part) {
    ends.push_back(whole.begin_ns + whole.length() / kParts * part);
  }
  ends.push_back(whole.end_ns);
  return ends;
}

Nanos FirstBegin(const analyze::Steps& steps, Interval whole) {
  for (const analyze::Step& step : steps.steps) {
    if (step.warm_up) continue;
    return step.host_span.length() > 0 ? std::min(step.span.begin_ns, step.host_span.begin_ns)
                                       : step.span.begin_ns;
  }
  return whole.begin_ns;
}

}  // namespace

bool IsShownKind(trace::SliceKind kind) { return kind != trace::SliceKind::kGraphNode; }

RowWindow ChooseWindow(const Input& input, std::size_t most) {
  std::size_t rows = 0;
  Interval whole{INT64_MAX, INT64_MIN};
  VisitRows(input.trace, [&](Nanos start, Nanos end) {
    ++rows;
    whole.begin_ns = std::min(whole.begin_ns, start);
    whole.end_ns = std::max(whole.end_ns, end);
  });
  RowWindow window;
  if (rows == 0) return window;
  window.span = whole;
  if (rows <= most) return window;

  const std::vector<Nanos> ends = PossibleEnds(input.facts.steps, whole);
  const bool stepped = input.facts.steps.steady_count() > 0;
  window.everything = false;
  window.span.begin_ns = FirstBegin(input.facts.steps, whole);
  // A row is shown with every end after its start: count it at the first of them.
  std::vector<std::size_t> fresh(ends.size() + 1, 0);
  VisitRows(input.trace, [&](Nanos start, Nanos end) {
    if (end <= window.span.begin_ns && start < window.span.begin_ns) return;
    const auto first = std::upper_bound(ends.begin(), ends.end(), start);
    ++fresh[static_cast<std::size_t>(first - ends.begin())];
  });
  std::size_t shown = fresh[0], parts = 1;
  while (parts < ends.size() && shown + fresh[parts] <= most) shown += fresh[parts++];
  window.span.end_ns = ends[parts - 1];
  window.left_out = rows - shown;
  window.why = fmt::format(
      "{} of {} are shown: {}; numbers and findings count all of them", WithThousands(shown),
      Count(rows, "row"),
      stepped
          ? fmt::format("{} of {}", parts == 1 ? "the first" : fmt::format("the first {}", parts),
                        Count(ends.size(), "steady step"))
          : fmt::format("the first {}", HumanDuration(window.span.length())));
  return window;
}

}  // namespace hone::report
