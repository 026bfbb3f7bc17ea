// SPDX-License-Identifier: Apache-2.0
// cpu-oversubscribed: more threads want to run than there are cores.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "doctor/places.h"
#include "doctor/rules/rules.h"

namespace hone::doctor {
namespace {

// Of steady time that a control group was held back; below it a step's spread hides it.
constexpr double kThrottledShare = 0.05;
// Threads that want to run, a core. Below it the queue is noise: the kernel's own threads count.
constexpr double kCrowded = 1.25;

// Counters of the machine: docs/user/rules/cpu-oversubscribed.md names them.
struct Series {
  double sum = 0, first = 0, last = 0;
  std::uint64_t count = 0;
  double mean() const { return count == 0 ? 0 : sum / static_cast<double>(count); }
};

Series Read(const trace::Trace& trace, trace::Interval window, std::string_view name) {
  Series series;
  for (trace::RowId i = 0; i < trace.counters.size(); ++i) {
    if (trace.counters.time_ns[i] < window.begin_ns || trace.counters.time_ns[i] > window.end_ns) {
      continue;
    }
    if (trace.Name(trace.counters.series[i]) != name) continue;
    const double value = trace.counters.value[i];
    if (series.count == 0) series.first = value;
    series.last = value;
    series.sum += value;
    ++series.count;
  }
  return series;
}

}  // namespace

Judgement JudgeCpuOversubscribed(const Case& the_case) {
  const trace::Interval window = the_case.facts.steps.host_window;
  const Series cores = Read(the_case.trace, window, "cpu_cores");
  const Series runnable = Read(the_case.trace, window, "runnable_threads");
  const Series throttled = Read(the_case.trace, window, "throttled_usec");
  const bool can_count = cores.count > 0 && runnable.count > 0 && cores.mean() > 0;
  if (!can_count && throttled.count < 2) {
    return Judgement::Missing(
        "the number of cores and of threads that want them is not in this trace; compare nproc "
        "with the load in top while it runs");
  }
  const double held =
      throttled.count < 2 || window.length() <= 0
          ? 0
          : (throttled.last - throttled.first) * 1e3 / static_cast<double>(window.length());
  const double crowd = can_count ? runnable.mean() / cores.mean() : 0;
  if (crowd < kCrowded && held < kThrottledShare) return Judgement::Quiet();

  Finding finding;
  finding.id = "cpu-oversubscribed";
  finding.severity = Severity::kMedium;
  finding.effort = Effort::kOneLine;
  finding.title = held >= kThrottledShare ? "the container's CPU limit stops the program"
                                          : "more threads want to run than there are cores";
  if (held >= kThrottledShare) {
    finding.evidence.push_back(fmt::format("held back for {} of the steady steps", Percent(held)));
  }
  if (can_count) {
    finding.evidence.push_back(fmt::format("{} threads want to run on {} cores",
                                           Times(runnable.mean()), Times(cores.mean())));
  }
  finding.remedy =
      "torch.set_num_threads(4)            # a process; and OMP_NUM_THREADS=1 in loader workers\n"
      "DataLoader(..., num_workers=4)      # workers + processes <= cores\n";
  return Judgement::Fires(std::move(finding));
}

}  // namespace hone::doctor
