// SPDX-License-Identifier: Apache-2.0
#include "analyze/idle.h"

#include <algorithm>

#include "analyze/api_class.h"
#include "analyze/gap_cause.h"
#include "analyze/host_activity.h"

namespace hone::analyze {
namespace {

using trace::Interval;
using trace::kNoRow;
using trace::RowId;

struct CauseWords {
  const char* id;
  const char* text;
};
constexpr std::array<CauseWords, kIdleCauseCount> kWords = {{
    {"waiting-for-data", "waiting for data"},
    {"synchronization", "host blocked in a synchronization"},
    {"copy", "waiting for a copy"},
    {"communication", "waiting on communication"},
    {"allocator", "allocator calls"},
    {"launch", "host launching too slowly"},
    {"host-work", "Python or other host work"},
    {"device-overhead", "turn-around between kernels"},
    {"unknown", "unknown"},
}};

// Walks the work of one device in step with its gaps: what ended before a gap, what ends it.
class WorkCursor {
 public:
  WorkCursor(const trace::Trace& trace, RowId device) : trace_(trace), device_(device) {}

  // Gaps must come in time order.
  GapEnds At(Interval gap) {
    const trace::DeviceWork& work = trace_.device;
    GapEnds ends;
    for (; next_ < work.size() && work.start_ns[next_] < gap.end_ns; ++next_) {
      if (Counts(next_) && (last_ == kNoRow || work.end_ns(next_) > work.end_ns(last_))) {
        last_ = next_;
      }
    }
    ends.previous = last_;
    // Of several that start together, one whose launch is known says more.
    for (RowId i = next_; i < work.size() && work.start_ns[i] == gap.end_ns; ++i) {
      if (!Counts(i)) continue;
      if (ends.next == kNoRow) ends.next = i;
      if (work.api[i] == kNoRow) continue;
      ends.next = i;
      break;
    }
    return ends;
  }

 private:
  bool Counts(RowId i) const {
    return trace_.device.duration_ns[i] > 0 &&
           trace_.streams[trace_.device.stream[i]].device == device_;
  }

  const trace::Trace& trace_;
  const RowId device_;
  RowId next_ = 0, last_ = kNoRow;
};

}  // namespace

const char* IdleCauseId(IdleCause cause) { return kWords[static_cast<std::size_t>(cause)].id; }
const char* IdleCauseText(IdleCause cause) { return kWords[static_cast<std::size_t>(cause)].text; }

Known<IdleFacts> ExplainIdle(const trace::Trace& trace, const Known<Timeline>& timeline,
                             const Steps& steps, const Lineage& lineage) {
  if (!timeline) return Known<IdleFacts>::Absent(timeline.why_not());
  const DeviceTimeline& device = timeline->main_device();
  const Interval whole = device.whole.window.hull();
  const trace::IntervalSet& steady = device.steady.window;
  const Interval steps_hull = steady.hull();

  const ApiCalls calls(trace);
  const HostActivity activity(trace, lineage, calls);
  GapExplainer explainer(trace, activity, calls);
  WorkCursor cursor(trace, device.device);

  IdleFacts facts;
  facts.device = device.device;
  const auto explain = [&](Interval span) {
    const GapEnds ends = cursor.At(span);
    const GapCause found = explainer.Explain(span, ends);
    return IdleGap{span, found.cause, ends.next, found.blamed};
  };
  // Parts of the steady window before the first and after the last work of the device are no gaps
  // of the whole trace, but the device idles in them all the same.
  const auto add_edge = [&](Nanos begin, Nanos end, Interval explained) {
    if (begin >= end) return;
    const IdleGap edge = explain(explained);
    facts.steady_ns[static_cast<std::size_t>(edge.cause)] += steady.LengthWithin({begin, end});
  };

  const Nanos before_end = std::min(steps_hull.end_ns, whole.begin_ns);
  add_edge(steps_hull.begin_ns, before_end, {steps_hull.begin_ns, whole.begin_ns});
  // A gap that reaches into a hole ends there.
  const trace::IntervalSet gaps =
      trace::Subtract(trace::Complement(device.busy, whole), steps.hole_spans);
  facts.gaps.reserve(gaps.size());
  for (const Interval& span : gaps) {
    facts.gaps.push_back(explain(span));
    const auto cause = static_cast<std::size_t>(facts.gaps.back().cause);
    facts.whole_ns[cause] += span.length();
    facts.steady_ns[cause] += steady.LengthWithin(span);
    ++facts.count[cause];
  }
  const Nanos after_begin = std::max(steps_hull.begin_ns, whole.end_ns);
  add_edge(after_begin, steps_hull.end_ns, {after_begin, steps_hull.end_ns});
  return facts;
}

}  // namespace hone::analyze
