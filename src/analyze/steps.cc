// SPDX-License-Identifier: Apache-2.0
#include "analyze/steps.h"

#include <algorithm>
#include <cmath>

#include "analyze/step_source.h"
#include "base/median.h"

namespace hone::analyze {
namespace {

using trace::RowId;

// Leading steps that are much longer than the later ones: lazy initialization, autotuning,
// compilation, a cold allocator. "Much longer" is the median of the later half plus a fifth of it,
// or three median absolute deviations where steps vary more than that: a fifth is above the spread
// of steady steps (our traces vary by up to 14 %) and far below what warm-up costs; the median and
// the deviation of the later half do not move with the outliers they are to find. Only leading
// steps count: a slow step in the middle is a finding, not warm-up. Never more than half, or there
// would be nothing to compare with.
std::size_t MarkWarmUp(std::vector<Step>& steps) {
  const std::size_t half = steps.size() / 2;
  std::vector<Nanos> later, deviations;
  for (std::size_t i = half; i < steps.size(); ++i) later.push_back(steps[i].span.length());
  const Nanos median = MedianInPlace(later);
  for (const Nanos length : later) deviations.push_back(std::abs(length - median));
  const Nanos apart = std::max(median / 5, 3 * MedianInPlace(deviations));
  const auto warms_up = [&](const Step& step) {
    const Nanos over = step.span.length() - median;
    return over > apart || (over < -apart && step.queued_ns > apart);
  };
  std::size_t count = 0;
  while (count < half && warms_up(steps[count])) steps[count++].warm_up = true;
  return count;
}

StepStats Summarize(const std::vector<Step>& steps, std::size_t first) {
  std::vector<Nanos> lengths;
  double sum = 0;
  for (std::size_t i = first; i < steps.size(); ++i) {
    lengths.push_back(steps[i].span.length());
    sum += static_cast<double>(lengths.back());
  }
  StepStats stats;
  stats.count = lengths.size();
  stats.median_ns = MedianInPlace(lengths);
  std::sort(lengths.begin(), lengths.end());
  stats.mean_ns = std::llround(sum / static_cast<double>(lengths.size()));
  stats.min_ns = lengths.front();
  stats.max_ns = lengths.back();
  // Linear interpolation between the two nearest ranks, as numpy.percentile does by default.
  const double rank = 0.95 * static_cast<double>(lengths.size() - 1);
  const auto below = static_cast<std::size_t>(rank);
  const std::size_t above = std::min(below + 1, lengths.size() - 1);
  stats.p95_ns =
      lengths[below] + std::llround((rank - static_cast<double>(below)) *
                                    static_cast<double>(lengths[above] - lengths[below]));
  return stats;
}

// Hull of device work, or of host work where there is none.
trace::Interval HullOfWork(const trace::Trace& trace) {
  trace::Interval hull{INT64_MAX, INT64_MIN};
  const auto add = [&](Nanos begin, Nanos end) {
    hull.begin_ns = std::min(hull.begin_ns, begin);
    hull.end_ns = std::max(hull.end_ns, end);
  };
  for (RowId i = 0; i < trace.device.size(); ++i) {
    add(trace.device.start_ns[i], trace.device.end_ns(i));
  }
  if (trace.device.size() == 0) {
    for (RowId i = 0; i < trace.host.size(); ++i) add(trace.host.start_ns[i], trace.host.end_ns(i));
  }
  return hull.begin_ns <= hull.end_ns ? hull : trace::Interval{};
}

trace::IntervalSet SetOf(trace::Interval interval) {
  trace::IntervalSet set;
  set.AppendSorted(interval);
  return set;
}

std::vector<Step> StepsFrom(StepSource source, const trace::Trace& trace, Steps& found) {
  switch (source) {
    case StepSource::kMark: return StepsFromMarks(trace);
    case StepSource::kProfilerStep: return StepsFromLabels(trace, found.enclosing);
    case StepSource::kOptimizer: return StepsFromOptimizer(trace);
    case StepSource::kKernelPattern: return StepsFromDevicePattern(trace);
    case StepSource::kOpPattern: return StepsFromOpPattern(trace);
    case StepSource::kNone: break;
  }
  return {};
}

// Between neighbours lies the program's own time; what lies in front of the others is a hole.
void SetWindows(Steps& found) {
  for (std::size_t i = 0; i < found.steps.size(); ++i) {
    const Step& step = found.steps[i];
    trace::Interval span = step.span, host_span = step.host_span;
    if (i > 0 && step.before != Before::kNeighbour) {
      found.hole_spans.AppendSorted({found.steps[i - 1].span.end_ns, span.begin_ns});
    } else if (i > found.warm_up_count) {
      span.begin_ns = found.steps[i - 1].span.end_ns;
      host_span.begin_ns = found.steps[i - 1].host_span.end_ns;
    }
    if (i < found.warm_up_count) continue;
    found.steady_window.AppendSorted(span);
    found.host_window.AppendSorted(host_span);
  }
}

}  // namespace

const char* StepSourceName(StepSource source) {
  switch (source) {
    case StepSource::kNone: return "none";
    case StepSource::kMark: return "hone.step()";
    case StepSource::kProfilerStep: return "step marks";
    case StepSource::kOptimizer: return "optimizer steps";
    case StepSource::kKernelPattern: return "repeating kernels";
    case StepSource::kOpPattern: return "repeating operators";
  }
  return "none";
}

bool MedianSpeaksForMean(Nanos median_ns, Nanos mean_ns) {
  const auto median = static_cast<double>(median_ns);
  return std::abs(static_cast<double>(mean_ns) - median) <= kAlike * median;
}

Steps FindSteps(const trace::Trace& trace) {
  Steps found;
  const bool has_device = trace.device.size() > 0;
  for (const StepSource source :
       {StepSource::kMark, StepSource::kProfilerStep, StepSource::kOptimizer,
        has_device ? StepSource::kKernelPattern : StepSource::kOpPattern}) {
    found.steps = StepsFrom(source, trace, found);
    if (found.steps.empty()) continue;
    found.source = source;
    break;
  }
  if (found.steps.empty()) {
    found.why_none = std::string("no step marks, no optimizer steps, and no sequence of ") +
                     (has_device ? "kernels" : "operators") + " that repeats three times";
    found.stats = Known<StepStats>::Absent("no steps in this trace");
    found.steady_window = found.host_window = SetOf(HullOfWork(trace));
    return found;
  }
  found.holes = FindHoles(trace, found.source, found.steps);
  if (found.source == StepSource::kMark || found.source == StepSource::kProfilerStep ||
      found.source == StepSource::kOptimizer) {
    found.device_clock = MoveToDeviceClock(trace, found.steps);
  } else {
    for (Step& step : found.steps) step.host_span = step.span;
  }
  found.warm_up_count = MarkWarmUp(found.steps);
  found.stats = Summarize(found.steps, found.warm_up_count);
  SetWindows(found);
  return found;
}

}  // namespace hone::analyze
