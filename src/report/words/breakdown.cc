// SPDX-License-Identifier: Apache-2.0
#include "report/words/breakdown.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyze/step_split.h"
#include "base/text.h"
#include "base/utf8.h"

namespace hone::report {
namespace {

using analyze::StepPart;
using analyze::StepPartKind;

// Idle rows by cause, largest first; the crumbs in one row.
std::vector<BreakdownRow> IdleRows(const analyze::StepSplit& split) {
  std::vector<BreakdownRow> rows, small;
  for (const StepPart& part : split.parts) {
    if (part.kind != StepPartKind::kIdle || part.time_ns <= 0) continue;
    BreakdownRow row{"idle", "idle", Tone::kIdle, part.time_ns, part.cause};
    if (part.cause) {
      row.id = fmt::format("idle:{}", analyze::IdleCauseId(*part.cause));
      row.label = fmt::format("idle: {}", analyze::IdleCauseText(*part.cause));
    }
    const auto total = static_cast<double>(std::max<Nanos>(split.total_ns, 1));
    const double share = static_cast<double>(part.time_ns) / total;
    (share < kSmallIdleShare && part.cause ? small : rows).push_back(std::move(row));
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

void AddWork(const StepPart& part, std::vector<BreakdownRow>& rows) {
  if (part.time_ns <= 0) return;
  switch (part.kind) {
    case StepPartKind::kCompute:
      rows.push_back({"compute", "GPU compute", Tone::kCompute, part.time_ns, {}});
      break;
    case StepPartKind::kCommunication:
      rows.push_back({"comm", "communication, not hidden", Tone::kComm, part.time_ns, {}});
      break;
    case StepPartKind::kCopy:
      rows.push_back({"copy", "copies, not hidden", Tone::kCopy, part.time_ns, {}});
      break;
    case StepPartKind::kIdle: break;
  }
}

}  // namespace

Known<Breakdown> SplitStep(const Input& input) {
  const Known<analyze::StepSplit> split = analyze::SplitStep(input.facts);
  if (!split) return Known<Breakdown>::Absent(split.why_not());
  Breakdown breakdown;
  breakdown.steps = split->steps;
  breakdown.total_ns = split->total_ns;
  breakdown.between_steps = split->between_steps;
  for (const StepPart& part : split->parts) AddWork(part, breakdown.rows);
  for (BreakdownRow& row : IdleRows(*split)) breakdown.rows.push_back(std::move(row));
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
