// SPDX-License-Identifier: Apache-2.0
#include "report/text/critical_path_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/tables.h"
#include "report/text/breakdown.h"
#include "report/text/gain_text.h"
#include "report/text/headline.h"
#include "report/text/table_text.h"
#include "report/text/text_report.h"

namespace hone::report {
namespace {

constexpr std::size_t kParts = 15;

Tone ToneOf(replay::PathKind kind) {
  switch (kind) {
    case replay::PathKind::kCompute: return Tone::kCompute;
    case replay::PathKind::kCommunication: return Tone::kComm;
    case replay::PathKind::kCopy: return Tone::kCopy;
    default: return Tone::kIdle;
  }
}

Breakdown SplitPath(const doctor::ReplayFacts& replay) {
  Breakdown breakdown;
  breakdown.steps = replay.steps;
  breakdown.total_ns = replay.path.length_ns;
  for (std::size_t i = 0; i < replay::kPathKindCount; ++i) {
    const auto kind = static_cast<replay::PathKind>(i);
    if (replay.path.total_ns[i] <= 0) continue;
    breakdown.rows.push_back(
        {replay::PathKindText(kind), ToneOf(kind), replay.path.total_ns[i], {}});
  }
  std::stable_sort(breakdown.rows.begin(), breakdown.rows.end(),
                   [](const auto& a, const auto& b) { return a.time_ns > b.time_ns; });
  return breakdown;
}

// What the largest part means for whoever wants a faster step.
const char* Meaning(replay::PathKind kind) {
  switch (kind) {
    case replay::PathKind::kInput:
      return "the step waits for its data; faster kernels change nothing until batches come sooner";
    case replay::PathKind::kHost:
    case replay::PathKind::kLaunch:
      return "the host sets the pace; faster kernels change little until it has less to do";
    case replay::PathKind::kCompute:
      return "the device sets the pace; less host work changes little until its kernels take less";
    case replay::PathKind::kCopy:
      return "copies set the pace; they are not hidden behind other work";
    case replay::PathKind::kCommunication:
      return "communication sets the pace; it is not hidden behind compute";
    case replay::PathKind::kSync:
      return "going back and forth between host and device sets the pace";
    case replay::PathKind::kDeviceOverhead:
      return "the pauses between kernels set the pace; fewer, larger kernels have fewer of them";
  }
  return "";
}

}  // namespace

void WriteCriticalPath(const Report& report, const Style& asked, std::ostream& out) {
  Style style = asked;
  style.width = std::max(style.width, kLeastWidth);
  WriteHeadline(report, style, out);
  Known<Table> table = CriticalPathTable(report);
  if (!table) {
    WriteLabelled("no replay", kLabelWidth, style.Clean(table.why_not()), style, out, Tone::kWarn);
    return;
  }
  const doctor::ReplayFacts& replay = *report.diagnosis->replay;
  out << '\n';
  WriteBreakdown(SplitPath(replay), "what decides how long a step takes", style, out);
  const auto largest = std::max_element(replay.path.total_ns.begin(), replay.path.total_ns.end());
  out << '\n';
  WriteLabelled("", 0,
                Meaning(static_cast<replay::PathKind>(largest - replay.path.total_ns.begin())),
                style, out);
  out << '\n';
  (void)Shape(*table, {.sort = "", .reverse = false, .limit = kParts});
  WriteTable(*table, style, {.indent = 2, .fill = false, .notes = false}, out);
}

}  // namespace hone::report
