// SPDX-License-Identifier: Apache-2.0
// Steps: the iterations of the program. Definition: docs/user/steps.md.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/known.h"
#include "trace/interval.h"
#include "trace/trace.h"

namespace hone::analyze {

enum class StepSource : std::uint8_t {
  kNone,
  kMark,          // hone.step(), from one call to the next
  kProfilerStep,  // ProfilerStep#N annotations (or NVTX ranges named so, or "step N"/"iteration N")
  kOptimizer,     // from the end of one Optimizer.step to the end of the next
  kKernelPattern,  // a sequence of kernels that repeats
  kOpPattern,      // a sequence of outermost operators that repeats, where there is no device work
};
const char* StepSourceName(StepSource source);

struct Step {
  std::string name;
  std::int64_t number = -1;   // N of ProfilerStep#N; else the ordinal
  trace::Interval span;       // on the clock that Steps::device_clock names
  trace::Interval host_span;  // as the host marked it
  bool warm_up = false;       // told apart by rule; warm-up steps count in no steady figure
};

// How far the mean of steps may lie from their median, as a share of it, before the median says too
// little: a few slow steps then take much of the time, which a median cannot see.
inline constexpr double kAlike = 0.1;
// Where it does not, the mean leads and the median stands beside it, in every report.
bool MedianSpeaksForMean(Nanos median_ns, Nanos mean_ns);

struct StepStats {  // over steady steps
  std::size_t count = 0;
  Nanos median_ns = 0, mean_ns = 0, p95_ns = 0, min_ns = 0, max_ns = 0;
  bool alike() const { return MedianSpeaksForMean(median_ns, mean_ns); }
};

struct Steps {
  StepSource source = StepSource::kNone;
  std::string why_none;           // when source is kNone
  std::vector<Step> steps;        // in time order, not overlapping
  std::size_t warm_up_count = 0;  // leading steps marked warm_up
  Known<StepStats> stats;
  // The host marked the steps but ran ahead: it launched them faster than the device worked them
  // off, so its marks say nothing about how long a step takes. A step then lasts from the end of
  // the work of the one before it to the end of its own.
  bool device_clock = false;
  // From the start of the first steady step to the end of the last; where there are no steps, the
  // hull of all work in the trace. Per-step figures are taken inside it.
  trace::Interval steady_window;

  // The same steps as the host marked them, for what happens on the host.
  trace::Interval host_window;

  std::size_t steady_count() const { return steps.size() - warm_up_count; }
};

// Looks at all threads; when several carry step marks, the one with most of them decides.
Steps FindSteps(const trace::Trace& trace);

}  // namespace hone::analyze
