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

// What lies between a step and the one in front of it.
enum class Before : std::uint8_t {
  kNeighbour,   // nothing but the program's own time
  kOtherSteps,  // steps that are not in the file, by their numbers
  kNothing,     // a long stretch in which nothing was recorded
};

struct Step {
  std::string name;
  std::int64_t number = -1;   // N of ProfilerStep#N; else the ordinal
  trace::Interval span;       // on the clock that Steps::device_clock names
  trace::Interval host_span;  // as the host marked it
  bool warm_up = false;       // told apart by rule; warm-up steps count in no steady figure
  Before before = Before::kNeighbour;  // else a hole in front of it, which belongs to no step
  // By how much more the device was behind the host at its end than at its begin; on the device's
  // clock 0.
  Nanos queued_ns = 0;
};

struct StepHole {
  Before kind = Before::kOtherSteps;
  std::string from, to;  // names of the steps around it; `to` is empty where no step follows
  Nanos length_ns = 0;
};

// Marks that were cut because they enclose other steps.
struct EnclosingMarks {
  std::size_t count = 0, of = 0;  // of all marks of the thread
  std::string name;               // the longest
  Nanos length_ns = 0;            // of its mark
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
  // From the start of the first steady step to the end of the last, without the holes; where there
  // are no steps, the hull of all work in the trace. Per-step figures are taken inside it.
  trace::IntervalSet steady_window;

  // The same steps as the host marked them, for what happens on the host.
  trace::IntervalSet host_window;

  std::vector<StepHole> holes;    // in time order
  trace::IntervalSet hole_spans;  // those between two steps, on the clock of the steps
  EnclosingMarks enclosing;

  std::size_t steady_count() const { return steps.size() - warm_up_count; }
};

// Looks at all threads; when several carry step marks, the one with most of them decides.
Steps FindSteps(const trace::Trace& trace);

}  // namespace hone::analyze
