// SPDX-License-Identifier: Apache-2.0
// gpu-throttled: the device runs below its clock, as its counters say, or as its kernels show by
// growing slower while they are recorded.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "analyze/grouping.h"
#include "base/text.h"
#include "doctor/rank.h"
#include "doctor/rules/gpu_clock.h"
#include "doctor/rules/rules.h"
#include "trace/record_again.h"

namespace hone::doctor {
namespace {

using trace::RowId;

// --- From the kernels -------------------------------------------------------------------------

// The steps are cut into this many parts of equal count, which must slow down one after the other.
constexpr std::size_t kParts = 4;
// From the first part to the last. Kernels of the same launch repeat within 1 to 2 %; clocks that
// settle after a cold start cost a few more.
constexpr double kSlower = 1.08;
// Noise of a part's mean that does not break the row.
constexpr double kTolerance = 0.99;
// Of the kernel time: comparable at all (the same launches in every step), and of that, slower. A
// sequence that grows makes some kernels longer, a clock nearly all.
constexpr double kComparable = 0.5, kMost = 0.6;

// In less than this a device may only be settling from the clock it idled at to the one that its
// power allows: healthy jobs of 50 ms on an H200 do. Heat takes seconds.
constexpr Nanos kLongEnough = kSecond;

struct Slowdown {
  bool comparable = false;
  bool slower = false;
  double ratio = 1;  // last part / first part, of all comparable kernels
  double lost() const { return 1 - 1 / ratio; }
  // Of a step on average, against the pace of the first part.
  double GoneNs() const {
    double sum = 0;
    for (const double part : per_step_ns) sum += part - per_step_ns[0];
    return std::max(0.0, sum / static_cast<double>(kParts));
  }
  double share = 0;  // of their time, in kernels that slowed down
  std::array<double, kParts> per_step_ns{};
};

// Which part of the steady steps a moment belongs to; kParts: none.
class PartOf {
 public:
  explicit PartOf(const analyze::Steps& steps) : steps_(steps) {
    const std::size_t n = steps.steady_count();
    for (std::size_t i = 0; i < n; ++i) ++steps_in[std::min(i * kParts / n, kParts - 1)];
  }
  // `clock`: the steps as the host marked them, or as they ran.
  std::size_t At(Nanos time, trace::Interval analyze::Step::*clock) const {
    const auto first = steps_.steps.begin() + static_cast<std::ptrdiff_t>(steps_.warm_up_count);
    const auto after = std::upper_bound(
        first, steps_.steps.end(), time,
        [&](Nanos t, const analyze::Step& step) { return t < (step.*clock).begin_ns; });
    if (after == first || time >= ((*(after - 1)).*clock).end_ns) return kParts;
    const auto index = static_cast<std::size_t>(after - 1 - first);
    return std::min(index * kParts / steps_.steady_count(), kParts - 1);
  }
  std::array<std::size_t, kParts> steps_in{};

 private:
  const analyze::Steps& steps_;
};

struct Launches {  // of one kernel with one geometry
  std::array<double, kParts> total_ns{};
  std::array<std::uint64_t, kParts> count{};

  bool SameInEveryStep(const std::array<std::size_t, kParts>& steps) const {
    for (std::size_t p = 1; p < kParts; ++p) {
      if (count[p] * steps[0] != count[0] * steps[p]) return false;
    }
    return count[0] > 0;
  }
  double Mean(std::size_t part) const { return total_ns[part] / static_cast<double>(count[part]); }
  bool Slower() const {
    for (std::size_t p = 1; p < kParts; ++p) {
      if (Mean(p) < kTolerance * Mean(p - 1)) return false;
    }
    return Mean(kParts - 1) >= kSlower * Mean(0);
  }
};

Slowdown CompareSteps(const Case& the_case, const analyze::WorkClasses& classes) {
  const trace::Trace& trace = the_case.trace;
  const RowId device = the_case.facts.timeline->main_device().device;
  const PartOf part_of(the_case.facts.steps);
  analyze::GroupIndex index;
  std::vector<Launches> kernels;
  double all = 0;
  for (RowId w = 0; w < trace.device.size(); ++w) {
    if (trace.device.kind[w] != trace::WorkKind::kKernel ||
        classes[w] != analyze::WorkClass::kCompute ||
        trace.streams[trace.device.stream[w]].device != device) {
      continue;
    }
    // By the launch, where it is known: the device runs behind the host, now more and now less.
    const RowId call = trace.device.api[w];
    const std::size_t part = call == trace::kNoRow
                                 ? part_of.At(trace.device.start_ns[w], &analyze::Step::span)
                                 : part_of.At(trace.host.start_ns[call], &analyze::Step::host_span);
    if (part == kParts) continue;
    const std::uint32_t id = index.IdOf(
        analyze::PairKey(static_cast<std::uint32_t>(trace.device.name[w]), trace.device.launch[w]));
    if (id == kernels.size()) kernels.emplace_back();
    const auto ns = static_cast<double>(trace.device.duration_ns[w]);
    kernels[id].total_ns[part] += ns;
    ++kernels[id].count[part];
    all += ns;
  }
  Slowdown found;
  double compared = 0, slower = 0;
  for (const Launches& kernel : kernels) {
    if (!kernel.SameInEveryStep(part_of.steps_in)) continue;
    double total = 0;
    for (std::size_t p = 0; p < kParts; ++p) {
      total += kernel.total_ns[p];
      found.per_step_ns[p] += kernel.total_ns[p] / static_cast<double>(part_of.steps_in[p]);
    }
    compared += total;
    if (kernel.Slower()) slower += total;
  }
  found.comparable = compared > 0 && compared >= kComparable * all;
  if (!found.comparable) return found;
  found.share = slower / compared;
  found.ratio = found.per_step_ns.back() / std::max(found.per_step_ns.front(), 1.0);
  found.slower = found.share >= kMost && found.ratio >= kSlower &&
                 std::is_sorted(found.per_step_ns.begin(), found.per_step_ns.end());
  return found;
}

// --- From counters ----------------------------------------------------------------------------

// Of the clock. What a large device loses at its own power limit under full load is less; a limit
// that costs a third was set by somebody.
constexpr double kLimitedBySomebody = 1.0 / 3;

Finding NewFinding() {
  Finding finding;
  finding.id = "gpu-throttled";
  finding.effort = Effort::kFewLines;
  finding.remedy =
      "nvidia-smi -q -d PERFORMANCE,CLOCK,POWER,TEMPERATURE   # while the job runs: which reason "
      "is "
      "active\n"
      "sudo nvidia-smi -pm 1; nvidia-smi -q -d SUPPORTED_CLOCKS\n"
      "# power cap: sudo nvidia-smi -pl <watts>; heat: airflow, neighbours, dust\n";
  return finding;
}

Severity SeverityOf(const GpuClock& clock) {
  if (clock.only_power()) {
    return clock.lost() >= kLimitedBySomebody ? Severity::kMedium : Severity::kLow;
  }
  if (clock.mhz <= 0) return clock.share >= 0.5 ? Severity::kHigh : Severity::kMedium;
  return clock.lost() >= kHighShare     ? Severity::kHigh
         : clock.lost() >= kMediumShare ? Severity::kMedium
                                        : Severity::kLow;
}

// `busy_ns`: of the device, a step.
Finding FromCounters(const GpuClock& clock, double busy_ns) {
  Finding finding = NewFinding();
  finding.severity = SeverityOf(clock);
  const std::string holds = clock.WhatHolds();
  finding.title = clock.only_power() ? "the device works as fast as its power limit allows"
                  : holds.empty()    ? "the device is held below its clock"
                                  : fmt::format("the device is held below its clock by {}", holds);
  finding.evidence.push_back(fmt::format("{} of the samples of \"{}\" in the steady steps say so",
                                         Percent(clock.share), clock.series));
  const double gain = clock.lost() * busy_ns;
  if (clock.lost() > 0) {
    finding.evidence.push_back(
        fmt::format("{:.0f} of {:.0f} MHz on average while it is busy: kernels would take up to "
                    "{:.2f} ms a step less",
                    clock.mhz, clock.highest_mhz, gain / 1e6));
  }
  if (clock.only_power()) {
    finding.evidence.emplace_back(
        "no fault of the program: dense work on a large device draws all the power it may have");
    finding.recoverable_ns = Known<double>::Absent("no change of the program gives it back");
  } else if (clock.lost() > 0) {
    finding.recoverable_ns = gain;
  }
  return finding;
}

Finding FromKernels(const Case& the_case, const Slowdown& kernels) {
  Finding finding = NewFinding();
  finding.title =
      fmt::format("the same kernels grow {:.0f} % slower while they are recorded: the clock falls",
                  100 * (kernels.ratio - 1));
  const Nanos recorded = the_case.facts.steps.steady_window.length();
  const bool brief = recorded < kLongEnough;
  const bool much = kernels.lost() >= kHighShare;
  finding.confidence = brief ? Confidence::kLow : Confidence::kMedium;
  finding.severity = brief ? (much ? Severity::kMedium : Severity::kLow)
                           : (much ? Severity::kHigh : Severity::kMedium);
  finding.evidence.push_back(fmt::format(
      "kernel time a step in four parts of the recording: {:.2f}, {:.2f}, {:.2f}, {:.2f} ms",
      kernels.per_step_ns[0] / 1e6, kernels.per_step_ns[1] / 1e6, kernels.per_step_ns[2] / 1e6,
      kernels.per_step_ns[3] / 1e6));
  finding.evidence.push_back(
      fmt::format("{} of it in kernels that slowed down with the same launches, each time",
                  Percent(kernels.share)));
  if (brief) {
    finding.evidence.push_back(fmt::format(
        "recorded for {}: the device may only be settling to the clock that its power allows; a "
        "second and more would tell",
        HumanDuration(recorded)));
  }
  if (brief && !much) return finding;
  const double bare = the_case.whatif->bare().likely_ns, gain = kernels.GoneNs();
  finding.recoverable_ns = gain;
  if (gain < bare) finding.speedup = bare / (bare - gain);
  return finding;
}

}  // namespace

Judgement JudgeGpuThrottled(const Case& the_case) {
  if (the_case.trace.device.size() == 0) return Judgement::Quiet();  // a program without a device
  if (!the_case.facts.timeline) return Judgement::Missing(the_case.facts.timeline.why_not());
  if (the_case.whatif == nullptr) return Judgement::Missing(the_case.why_no_replay);
  const GpuClock clock = AskGpuClock(the_case);
  if (clock.held) {
    const auto steps = static_cast<double>(std::max<std::size_t>(the_case.steps(), 1));
    const Nanos busy = the_case.facts.timeline->main_device().steady.busy_ns;
    return Judgement::Fires(FromCounters(clock, static_cast<double>(busy) / steps));
  }
  Slowdown kernels;
  if (the_case.steps() >= kParts) {
    kernels = CompareSteps(the_case, the_case.whatif->model().classes());
  }
  if (kernels.slower) return Judgement::Fires(FromKernels(the_case, kernels));
  if (clock.known || kernels.comparable) return Judgement::Quiet();
  return Judgement::Missing(
      the_case.steps() < kParts
          ? fmt::format("clocks are not in this trace, and kernels that slow down show over {} "
                        "steady steps, of which it has {}; {}, or watch nvidia-smi -q -d "
                        "PERFORMANCE",
                        kParts, the_case.steps(),
                        trace::RecordSteps(the_case.trace.info, 2 * kParts))
          : std::string("clocks are not in this trace, and its steps launch different kernels; "
                        "watch nvidia-smi -q -d PERFORMANCE while it runs"));
}

}  // namespace hone::doctor
