// SPDX-License-Identifier: Apache-2.0
#include "report/text/breakdown.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/utf8.h"

namespace hone::report {
namespace {

// Idle rows by cause, largest first; the crumbs in one row.
std::vector<BreakdownRow> IdleRows(const std::array<Nanos, analyze::kIdleCauseCount>& causes,
                                   Nanos total_ns) {
  std::vector<BreakdownRow> rows, small;
  for (std::size_t i = 0; i < causes.size(); ++i) {
    if (causes[i] <= 0) continue;
    const auto cause = static_cast<analyze::IdleCause>(i);
    BreakdownRow row{fmt::format("idle:{}", analyze::IdleCauseId(cause)),
                     fmt::format("idle: {}", analyze::IdleCauseText(cause)), Tone::kIdle, causes[i],
                     cause};
    const double share = static_cast<double>(causes[i]) / static_cast<double>(total_ns);
    (share < kSmallIdleShare ? small : rows).push_back(std::move(row));
  }
  const auto larger = [](const BreakdownRow& a, const BreakdownRow& b) {
    return a.time_ns > b.time_ns;
  };
  std::stable_sort(rows.begin(), rows.end(), larger);
  if (small.size() == 1) {
    rows.push_back(std::move(small[0]));
  } else if (small.size() > 1) {
    BreakdownRow rest{
        "idle:other", fmt::format("idle: {} other causes", small.size()), Tone::kIdle, 0, {}};
    for (const BreakdownRow& row : small) rest.time_ns += row.time_ns;
    rows.push_back(std::move(rest));
  }
  return rows;
}

}  // namespace

Known<Breakdown> SplitStep(const Input& input) {
  const analyze::Facts& facts = input.facts;
  if (!facts.timeline) return Known<Breakdown>::Absent(facts.timeline.why_not());
  Breakdown breakdown;
  breakdown.steps =
      facts.steps.source == analyze::StepSource::kNone ? 0 : facts.steps.steady_count();
  const analyze::DeviceTimeline& device = facts.timeline->main_device();
  const analyze::TimelineSplit& split = breakdown.steps > 0 ? device.steady : device.whole;
  breakdown.total_ns = split.total_ns;
  if (breakdown.steps > 0 && facts.steps.stats) {
    const Nanos inside = facts.steps.stats->mean_ns * static_cast<Nanos>(breakdown.steps);
    breakdown.between_steps = split.total_ns - inside > split.total_ns / 20;
  }
  const auto add = [&](const char* id, const char* label, Tone tone, Nanos time_ns) {
    if (time_ns > 0) breakdown.rows.push_back({id, label, tone, time_ns, {}});
  };
  add("compute", "GPU compute", Tone::kCompute, split.compute_ns);
  add("comm", "communication, not hidden", Tone::kComm, split.exposed_comm_ns);
  add("copy", "copies, not hidden", Tone::kCopy, split.exposed_copy_ns);
  if (facts.idle) {
    const auto& causes = breakdown.steps > 0 ? facts.idle->steady_ns : facts.idle->whole_ns;
    for (BreakdownRow& row : IdleRows(causes, std::max<Nanos>(split.total_ns, 1))) {
      breakdown.rows.push_back(std::move(row));
    }
  } else {
    add("idle", "idle", Tone::kIdle, split.idle_ns);
  }
  return breakdown;
}

std::string BreakdownTitle(const Breakdown& breakdown) {
  if (breakdown.steps == 0) return "where the device's time goes, first to last work";
  if (breakdown.steps == 1) return "where the step goes";
  return fmt::format("where a step goes, mean of {}{}", breakdown.steps,
                     breakdown.between_steps ? ", time between included" : "");
}

void WriteBreakdown(const Breakdown& breakdown, const Style& style, std::ostream& out) {
  WriteBreakdown(breakdown, BreakdownTitle(breakdown), style, out);
}

void WriteBreakdown(const Breakdown& breakdown, const std::string& title, const Style& style,
                    std::ostream& out) {
  constexpr std::size_t kNumber = 11, kPercent = 8;  // "1,234,567.8", "100.0 %"
  std::size_t label_width = 0;
  for (const BreakdownRow& row : breakdown.rows) {
    label_width = std::max(label_width, DisplayWidth(row.label));
  }
  const std::size_t most = style.width - std::min(style.width, 2 + 2 + kNumber + kPercent + 6);
  label_width = std::min(label_width, most);
  const std::size_t taken = 2 + label_width + 2 + kNumber + kPercent;
  const std::size_t bar_width =
      std::min<std::size_t>(style.width > taken ? style.width - taken : 0, 46);
  const double steps = breakdown.steps > 0 ? static_cast<double>(breakdown.steps) : 1;
  const std::size_t left = taken + bar_width - kNumber - kPercent - 2;
  out << "  " << style.Paint(Tone::kStrong, PadRight(ElideMiddle(title, left, style.utf8), left))
      << style.Paint(Tone::kFaint, PadLeft("ms", kNumber) + PadLeft("%", kPercent)) << '\n';
  for (const BreakdownRow& row : breakdown.rows) {
    const double share = breakdown.total_ns > 0 ? static_cast<double>(row.time_ns) /
                                                      static_cast<double>(breakdown.total_ns)
                                                : 0;
    const std::string bar = style.Bar(share, bar_width);
    out << "  " << PadRight(ElideMiddle(row.label, label_width, style.utf8), label_width) << "  "
        << style.Paint(row.tone, bar)
        << std::string(bar_width - std::min(bar_width, DisplayWidth(bar)), ' ')
        << PadLeft(Fixed(ToMillis(row.time_ns) / steps, 2), kNumber)
        << PadLeft(share > 0 && share < 0.0005 ? "<0.1" : Fixed(share * 100, 1), kPercent) << '\n';
  }
}

}  // namespace hone::report
