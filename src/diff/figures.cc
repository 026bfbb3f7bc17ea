// SPDX-License-Identifier: Apache-2.0
#include "diff/figures.h"

#include <string_view>
#include <vector>

#include "analyze/api_class.h"
#include "analyze/launches.h"

namespace hone::diff {
namespace {

using trace::Interval;
using trace::RowId;

constexpr std::string_view kClock = "sm_clock_mhz";  // docs/user/run.md

Known<double> Absent(std::string why) { return Known<double>::Absent(std::move(why)); }

const trace::IntervalSet& WindowOf(const analyze::Facts& facts, bool by_step) {
  const analyze::DeviceTimeline& device = facts.timeline->main_device();
  return by_step ? device.steady.window : device.whole.window;
}

double UnitsOf(const analyze::Facts& facts, const trace::IntervalSet& window, bool by_step) {
  return by_step ? static_cast<double>(facts.steps.steady_count()) : ToSeconds(window.length());
}

struct Counts {
  double kernels = 0;
  Known<double> launches;
};

Counts CountWork(const trace::Trace& trace, const analyze::Facts& facts, bool by_step) {
  const RowId device = facts.timeline->main_device().device;
  const trace::IntervalSet& window = WindowOf(facts, by_step);
  const Interval hull = window.hull();
  const double units = UnitsOf(facts, window, by_step);
  std::uint64_t kernels = 0;
  for (RowId i = 0; i < trace.device.size(); ++i) {
    const Nanos start = trace.device.start_ns[i];
    if (start >= hull.end_ns) break;
    if (!window.Holds(start) || trace.streams[trace.device.stream[i]].device != device) continue;
    if (trace.device.kind[i] == trace::WorkKind::kKernel) ++kernels;
  }
  std::uint64_t launches = 0;
  const std::vector<bool> is_launch = analyze::FindLaunches(trace, analyze::ApiCalls(trace));
  for (RowId i = 0; i < trace.host.size(); ++i) {
    if (!is_launch[i]) continue;
    if (!by_step || facts.steps.host_window.Holds(trace.host.start_ns[i])) ++launches;
  }
  Counts counts;
  counts.kernels = units > 0 ? static_cast<double>(kernels) / units : 0;
  counts.launches = launches > 0 && units > 0 ? Known<double>(static_cast<double>(launches) / units)
                                              : Absent("no launching calls in this trace");
  return counts;
}

Known<double> BusyShare(const analyze::Facts& facts, bool by_step) {
  const analyze::DeviceTimeline& device = facts.timeline->main_device();
  const analyze::TimelineSplit& split = by_step ? device.steady : device.whole;
  if (split.total_ns <= 0) return Absent("the device's span has no length");
  return static_cast<double>(split.busy_ns) / static_cast<double>(split.total_ns);
}

// Of the first GPU, else of the host: allocators are listed in that order.
Known<double> PeakMemory(const analyze::Facts& facts, bool reserved) {
  if (!facts.memory) return Absent(facts.memory.why_not());
  if (facts.memory->devices.empty()) return Absent("no allocator events in this trace");
  const analyze::DeviceMemory& memory = facts.memory->devices.front();
  if (!reserved) {
    if (memory.relative) {
      return Absent("sizes count from the start of the trace, so the peak is not known");
    }
    return static_cast<double>(memory.peak_allocated);
  }
  if (memory.peak_reserved < 0) return Absent("the allocator does not say what it reserves");
  return static_cast<double>(memory.peak_reserved);
}

Known<double> MeanClock(const trace::Trace& trace, const analyze::Facts& facts) {
  const Interval window = facts.steps.steady_window.hull();
  double sum = 0;
  std::uint64_t count = 0;
  const StringId name = trace.strings.Find(kClock);
  for (RowId i = 0; i < trace.counters.size() && name != StringId::kEmpty; ++i) {
    const Nanos time = trace.counters.time_ns[i];
    if (trace.counters.series[i] != name || time < window.begin_ns || time > window.end_ns)
      continue;
    sum += trace.counters.value[i];
    ++count;
  }
  if (count == 0) return Absent("clocks are not in this trace");
  return sum / static_cast<double>(count);
}

}  // namespace

std::vector<Figure> MeasureFigures(const trace::Trace& trace, const analyze::Facts& facts,
                                   bool by_step) {
  std::vector<Figure> figures;
  const auto add = [&](const char* id, const char* text, FigureUnit unit, Known<double> value) {
    figures.push_back({id, text, unit, std::move(value), Absent("")});
  };
  const std::string no_steps = "no steps in this trace";
  const auto& stats = facts.steps.stats;
  const bool stepped = by_step && stats;
  add("step_p95_ms", "slowest steps (p95)", FigureUnit::kMillis,
      stepped ? Known<double>(static_cast<double>(stats->p95_ns)) : Absent(no_steps));
  add("steps_per_second", "steps a second", FigureUnit::kPerSecond,
      stepped && stats->mean_ns > 0 ? Known<double>(1e9 / static_cast<double>(stats->mean_ns))
                                    : Absent(no_steps));
  if (facts.timeline) {
    const Counts counts = CountWork(trace, facts, by_step);
    add("gpu_busy_share", "GPU busy", FigureUnit::kShare, BusyShare(facts, by_step));
    add("kernels", by_step ? "kernels a step" : "kernels a second", FigureUnit::kCount,
        counts.kernels);
    add("launches", by_step ? "launch calls a step" : "launch calls a second", FigureUnit::kCount,
        counts.launches);
  } else {
    const std::string& why = facts.timeline.why_not();
    add("gpu_busy_share", "GPU busy", FigureUnit::kShare, Absent(why));
    add("kernels", by_step ? "kernels a step" : "kernels a second", FigureUnit::kCount,
        Absent(why));
    add("launches", by_step ? "launch calls a step" : "launch calls a second", FigureUnit::kCount,
        Absent(why));
  }
  add("memory_peak_bytes", "peak memory", FigureUnit::kBytes, PeakMemory(facts, false));
  add("memory_reserved_bytes", "peak reserved", FigureUnit::kBytes, PeakMemory(facts, true));
  add("sm_clock_mhz", "SM clock", FigureUnit::kMegahertz, MeanClock(trace, facts));
  return figures;
}

}  // namespace hone::diff
