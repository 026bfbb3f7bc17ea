// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "bench/operators.h"
#include "bench/probe.h"

namespace hone::bench {
namespace {

std::string OverTime(const Probe& probe) {
  for (std::size_t look = 1; look < probe.operators.size(); ++look) {
    const auto found = FindDifference(probe.operators[0], probe.operators[look]);
    if (!found || look >= probe.looked.size()) continue;
    return fmt::format("{} {} in step {}, {} in step {}", found->name, TimesText(found->first),
                       probe.looked[0] + 1, TimesText(found->second), probe.looked[look] + 1);
  }
  return "steady";
}

// The probe's clock is the system's monotonic one, as the launcher's: its times must lie between
// the launcher's, and as many seconds must have passed as in /proc/uptime, which counts in
// hundredths and is read by another way.
std::string ClockTrouble(const Probe& probe, std::int64_t start_ns, std::int64_t end_ns) {
  const double own = static_cast<double>(probe.end_ns - probe.begin_ns) * 1e-9;
  double passed = static_cast<double>(end_ns - start_ns) * 1e-9;
  const bool inside = probe.begin_ns >= start_ns && probe.end_ns <= end_ns;
  bool even = true;
  if (inside && probe.uptime_s) {
    passed = *probe.uptime_s;
    even = std::abs(own - passed) <= 0.05 + 0.02 * std::max(own, passed);
  }
  if (inside && even) return "";
  return fmt::format("the program's clock says {:.2f} s where {:.2f} s passed", own, passed);
}

}  // namespace

Work WorkOf(const std::vector<Probe>& probes, std::int64_t start_ns, std::int64_t end_ns) {
  Work work;
  if (probes.empty()) {
    work.why_not = "the program is no Python that loads start-up files";
    return work;
  }
  const Probe& probe = probes[0];
  work.facts = probe.facts;
  auto& facts = work.facts;
  std::string clock = ClockTrouble(probe, start_ns, end_ns);
  if (clock.empty() && !probe.clocks.empty()) {
    clock = fmt::format("the program replaced time.{}", fmt::join(probe.clocks, ", time."));
  }
  facts["clock"] = clock.empty() ? "the system's" : clock;
  if (!probe.trouble.empty()) work.why_not = "the probe failed: " + probe.trouble;
  if (probe.steps_ns.empty()) {
    work.why_not = "no step of it was seen";
    return work;
  }
  work.seen = probe.trouble.empty();
  facts["processes"] = fmt::to_string(std::count_if(
      probes.begin(), probes.end(), [](const Probe& p) { return !p.steps_ns.empty(); }));
  const auto steps = static_cast<double>(probe.steps_ns.size());
  facts["steps"] = fmt::to_string(probe.steps_ns.size());
  if (!probe.samples.empty() && probe.samples.back() > 0) {
    facts["samples"] = fmt::to_string(probe.samples.back());
    facts["samples a step"] =
        fmt::format("{:.4g}", static_cast<double>(probe.samples.back()) / steps);
  }
  if (probe.batches > 0) {
    facts["values a batch"] = fmt::format(
        "{:.4g}", static_cast<double>(probe.elements) / static_cast<double>(probe.batches));
  }
  if (!probe.operators.empty()) {
    work.operators = probe.operators[0];
    facts["operators over time"] = OverTime(probe);
    if (!probe.operator_shapes.empty()) {
      facts["operators' shapes"] = fmt::format("{:012x}", probe.operator_shapes[0]);
    }
  }
  // CPU time after the last step, of that since the first one.
  const double first_cpu =
      probe.edges.empty() ? 0 : static_cast<double>(probe.edges[0].cpu_ns) * 1e-9;
  const double stepping = probe.cpu_s - first_cpu;
  if (stepping > 0) {
    facts["CPU time after the last step"] = fmt::format("{:.3f}", probe.tail_cpu_s / stepping);
  }
  return work;
}

}  // namespace hone::bench
