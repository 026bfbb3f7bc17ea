// SPDX-License-Identifier: Apache-2.0
// cpu-oversubscribed: more threads want to run than there are cores.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analyze/machine_counters.h"
#include "base/text.h"
#include "doctor/places.h"
#include "doctor/rules/rules.h"

namespace hone::doctor {
namespace {

// Of steady time that a control group was held back; below it a step's spread hides it.
constexpr double kThrottledShare = 0.05;
// Threads that want to run, a core. Below it the queue is noise: the kernel's own threads count.
constexpr double kCrowded = 1.25;

}  // namespace

Judgement JudgeCpuOversubscribed(const Case& the_case) {
  const trace::Interval window = the_case.facts.steps.host_window;
  const analyze::CounterSeries cores = analyze::ReadCounter(the_case.trace, window, "cpu_cores");
  const analyze::CounterSeries runnable =
      analyze::ReadCounter(the_case.trace, window, "runnable_threads");
  const analyze::CounterSeries throttled =
      analyze::ReadCounter(the_case.trace, window, "throttled_usec");
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
  // Half of the cores for the program's own threads, half for its workers, where they are counted.
  const double half = can_count ? std::max(1.0, std::floor(cores.mean() / 2)) : 4;
  finding.remedy = fmt::format(
      "torch.set_num_threads({0:.0f})            # a process; and OMP_NUM_THREADS=1 in loader "
      "workers\n"
      "DataLoader(..., num_workers={0:.0f})      # workers + processes <= cores\n",
      half);
  return Judgement::Fires(std::move(finding));
}

}  // namespace hone::doctor
