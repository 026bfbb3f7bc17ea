// SPDX-License-Identifier: Apache-2.0
// Operators of programs without a device: whose own time each moment of the host is.
#include <algorithm>
#include <vector>

#include "analyze/grouping.h"
#include "analyze/loader.h"
#include "diff/place.h"
#include "diff/place_index.h"

namespace hone::diff {
namespace {

using trace::Interval;
using trace::IntervalSet;
using trace::kNoRow;
using trace::RowId;
using trace::SliceKind;

struct Segment {  // of a thread, inside the operator `row` and in none inside that
  Interval span;
  RowId row;
};

Interval Clip(Interval span, Interval window) {
  const Nanos begin = std::clamp(span.begin_ns, window.begin_ns, window.end_ns);
  return {begin, std::clamp(span.end_ns, begin, window.end_ns)};
}

// The thread whose operators take most of the window; threads.size(): none has any.
std::size_t BusiestThread(const trace::Trace& trace, Interval window) {
  std::vector<Nanos> time(trace.threads.size(), 0);
  for (std::size_t t = 0; t < trace.threads.size(); ++t) {
    Nanos reached = window.begin_ns;
    for (RowId i = trace.threads[t].first_slice; i < trace.threads[t].last_slice; ++i) {
      if (trace.host.kind[i] != SliceKind::kOp) continue;
      const Interval span = Clip({trace.host.start_ns[i], trace.host.end_ns(i)}, window);
      time[t] += std::max<Nanos>(0, span.end_ns - std::max(span.begin_ns, reached));
      reached = std::max(reached, span.end_ns);
    }
  }
  const auto most = std::max_element(time.begin(), time.end());
  if (most == time.end() || *most == 0) return trace.threads.size();
  return static_cast<std::size_t>(most - time.begin());
}

// Appends the segments of one thread. Rows stand by start, outer before inner, so the innermost
// open operator is the top of a stack.
void AddSegments(const trace::Trace& trace, const trace::Thread& thread, Interval window,
                 std::vector<Segment>& out) {
  const trace::HostSlices& host = trace.host;
  std::vector<RowId> open;
  Nanos at = window.begin_ns;
  const auto run_until = [&](Nanos time) {
    while (!open.empty()) {
      const RowId top = open.back();
      const Interval span = Clip({at, std::min(time, host.end_ns(top))}, window);
      if (span.length() > 0) {
        out.push_back({span, top});
        at = span.end_ns;
      }
      if (host.end_ns(top) > time) return;
      open.pop_back();
    }
  };
  for (RowId i = thread.first_slice; i < thread.last_slice; ++i) {
    if (host.kind[i] != SliceKind::kOp) continue;
    run_until(host.start_ns[i]);
    at = std::max(at, host.start_ns[i]);
    open.push_back(i);
  }
  run_until(INT64_MAX);
}

IntervalSet LoaderTime(const trace::Trace& trace, std::size_t thread, Interval window) {
  std::vector<Interval> spans;
  for (const RowId row : analyze::FindLoaderSlices(trace)) {
    if (trace.host.thread[row] != thread) continue;
    spans.push_back(Clip({trace.host.start_ns[row], trace.host.end_ns(row)}, window));
  }
  return IntervalSet::Union(std::move(spans));
}

}  // namespace

HostTime OperatorPlaces(const trace::Trace& trace, const IntervalSet& steps, HostPlaces& host,
                        PerUnit unit) {
  HostTime time;
  const Interval window = steps.hull();
  const std::size_t main = BusiestThread(trace, window);
  if (main == trace.threads.size()) return time;
  const RowId process = trace.threads[main].process;
  const IntervalSet loader = trace::Intersect(LoaderTime(trace, main, window), steps);
  time.loader_ns = loader.length();

  PlaceIndex index(trace, host);
  const auto place_of = [&](RowId row) -> Place& {
    return index.At(row, row, StringId::kEmpty, analyze::WorkClass::kCompute, row);
  };
  std::vector<Segment> segments;
  for (const trace::Thread& thread : trace.threads) {
    if (thread.process != process) continue;
    AddSegments(trace, thread, window, segments);
    for (RowId i = thread.first_slice; i < thread.last_slice; ++i) {
      if (trace.host.kind[i] != SliceKind::kOp) continue;
      const Nanos start = trace.host.start_ns[i];
      if (steps.Holds(start)) ++place_of(i).count;
    }
  }
  std::stable_sort(segments.begin(), segments.end(), [](const Segment& a, const Segment& b) {
    return a.span.begin_ns < b.span.begin_ns;
  });
  Nanos reached = window.begin_ns;
  for (const Segment& segment : segments) {
    Place& place = place_of(segment.row);
    place.sum_ns = analyze::SaturatingAdd(place.sum_ns, steps.LengthWithin(segment.span));
    const Interval own{std::max(segment.span.begin_ns, reached), segment.span.end_ns};
    if (own.length() <= 0) continue;
    reached = own.end_ns;
    const Nanos exposed = steps.LengthWithin(own) - loader.LengthWithin(own);
    place.exposed_ns += exposed;
    time.operators_ns += exposed;
  }
  MeasureUnits(index.places, unit);
  time.places = std::move(index.places);
  return time;
}

}  // namespace hone::diff
