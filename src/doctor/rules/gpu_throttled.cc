// SPDX-License-Identifier: Apache-2.0
// gpu-throttled: the device runs below its clock, as its counters say, or as its kernels show by
// growing slower while they are recorded.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <vector>

#include "analyze/grouping.h"
#include "base/text.h"
#include "doctor/rank.h"
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

// Samples in the steady steps that must say so: a single one is a passing peak of power.
constexpr double kThrottledShare = 0.10;
// A clock this far below the highest that the trace has seen, while the device is busy.
constexpr double kLowClock = 0.92;
// NVML's reasons that slow nobody down against his will: idle, and clocks that were asked for.
constexpr std::uint64_t kHarmless = 0x1 | 0x2;

struct CounterSays {
  bool known = false, throttled = false;
  double share = 0;  // of the samples
  std::string series;
  double highest = 0, lowest = 0;  // of a clock
};

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

CounterSays AskCounters(const Case& the_case) {
  const trace::Trace& trace = the_case.trace;
  const trace::Interval window = the_case.facts.steps.steady_window;
  const trace::IntervalSet& busy = the_case.facts.timeline->main_device().busy;
  struct Series {
    std::string name;
    bool reasons = false, clock = false;
    std::uint64_t samples = 0, set = 0;
    std::vector<double> values;
  };
  analyze::GroupIndex index;
  std::vector<Series> all;
  for (std::size_t i = 0; i < trace.counters.size(); ++i) {
    const std::uint32_t id =
        index.IdOf(analyze::PairKey(trace.counters.track[i], trace.counters.series[i]));
    if (id == all.size()) {
      Series& series = all.emplace_back();
      series.name = std::string(trace.Name(trace.counters.track[i]));
      const std::string_view own = trace.Name(trace.counters.series[i]);
      if (!own.empty()) series.name += " " + std::string(own);
      const std::string lower = Lower(series.name);
      series.reasons = lower.find("throttle") != std::string::npos;
      series.clock = !series.reasons && lower.find("clock") != std::string::npos &&
                     lower.find("mem") == std::string::npos;
    }
    Series& series = all[id];
    const Nanos time = trace.counters.time_ns[i];
    const double value = trace.counters.value[i];
    if (!(value >= 0) || time < window.begin_ns || time >= window.end_ns) continue;
    if (series.reasons) {
      ++series.samples;
      const auto bits = static_cast<std::uint64_t>(std::min(value, 1e15));
      const bool mask = Lower(series.name).find("reason") != std::string::npos;
      if (mask ? (bits & ~kHarmless) != 0 : value > 0) ++series.set;
    } else if (series.clock && busy.LengthWithin({time, time + 1}) > 0) {
      series.values.push_back(value);
    }
  }
  CounterSays says;
  for (Series& series : all) {
    if (series.clock && series.values.size() >= 2) {
      says.highest = *std::max_element(series.values.begin(), series.values.end());
      series.samples = series.values.size();
      for (const double value : series.values) {
        if (value < kLowClock * says.highest) ++series.set;
      }
      says.lowest = *std::min_element(series.values.begin(), series.values.end());
    }
    if (series.samples == 0) continue;
    says.known = true;
    const double share = static_cast<double>(series.set) / static_cast<double>(series.samples);
    if (share < kThrottledShare || share < says.share) continue;
    says.throttled = true;
    says.share = share;
    says.series = series.name;
  }
  return says;
}

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

}  // namespace

Judgement JudgeGpuThrottled(const Case& the_case) {
  if (the_case.trace.device.size() == 0) return Judgement::Quiet();  // a program without a device
  if (!the_case.facts.timeline) return Judgement::Missing(the_case.facts.timeline.why_not());
  if (the_case.whatif == nullptr) return Judgement::Missing(the_case.why_no_replay);
  const CounterSays counters = AskCounters(the_case);
  if (counters.throttled) {
    Finding finding = NewFinding();
    finding.title = "the device is held below its clock";
    finding.severity = counters.share >= 0.5 ? Severity::kHigh : Severity::kMedium;
    finding.evidence.push_back(fmt::format("{} of the samples of \"{}\" in the steady steps say so",
                                           Percent(counters.share), counters.series));
    return Judgement::Fires(std::move(finding));
  }
  Slowdown kernels;
  if (the_case.steps() >= kParts) {
    kernels = CompareSteps(the_case, the_case.whatif->model().classes());
  }
  if (kernels.slower) {
    Finding finding = NewFinding();
    finding.title = fmt::format(
        "the same kernels grow {:.0f} % slower while they are recorded: the clock falls",
        100 * (kernels.ratio - 1));
    const bool brief = the_case.facts.steps.steady_window.length() < kLongEnough;
    finding.confidence = brief ? Confidence::kLow : Confidence::kMedium;
    finding.severity = brief                                 ? Severity::kLow
                       : 1 - 1 / kernels.ratio >= kHighShare ? Severity::kHigh
                                                             : Severity::kMedium;
    finding.evidence.push_back(fmt::format(
        "kernel time a step in four parts of the recording: {:.2f}, {:.2f}, {:.2f}, {:.2f} ms",
        kernels.per_step_ns[0] / 1e6, kernels.per_step_ns[1] / 1e6, kernels.per_step_ns[2] / 1e6,
        kernels.per_step_ns[3] / 1e6));
    finding.evidence.push_back(
        fmt::format("{} of it in kernels that slowed down with the same launches, each time",
                    Percent(kernels.share)));
    return Judgement::Fires(std::move(finding));
  }
  if (counters.known || kernels.comparable) return Judgement::Quiet();
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
