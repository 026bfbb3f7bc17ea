// SPDX-License-Identifier: Apache-2.0
#include "report/text/critical_path_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "report/tables.h"
#include "report/text/table_text.h"
#include "report/text/text_report.h"
#include "report/words/breakdown.h"
#include "report/words/gain_text.h"
#include "report/words/headline.h"

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
    breakdown.rows.push_back({replay::PathKindId(kind),
                              replay::PathKindText(kind),
                              ToneOf(kind),
                              replay.path.total_ns[i],
                              {}});
  }
  std::stable_sort(breakdown.rows.begin(), breakdown.rows.end(),
                   [](const auto& a, const auto& b) { return a.time_ns > b.time_ns; });
  return breakdown;
}

// Kinds that one and the same cure shortens, and what it means when they lead.
struct Pace {
  const char* meaning;
  std::vector<replay::PathKind> kinds;
};

const std::vector<Pace>& Paces() {
  using replay::PathKind;
  static const std::vector<Pace> kPaces = {
      {"the step waits for its data: faster kernels change nothing until batches come sooner",
       {PathKind::kInput}},
      {"the host sets the pace: faster kernels change little until it has less to do",
       {PathKind::kHost, PathKind::kLaunch, PathKind::kSync}},
      {"the device sets the pace: less host work changes little until its kernels take less",
       {PathKind::kCompute, PathKind::kDeviceOverhead}},
      {"copies set the pace: nothing hides them", {PathKind::kCopy}},
      {"communication sets the pace: no compute hides it", {PathKind::kCommunication}},
  };
  return kPaces;
}

std::string Meaning(const replay::CriticalPath& path) {
  const char* meaning = "";
  Nanos most = -1;
  for (const Pace& pace : Paces()) {
    Nanos time = 0;
    for (const replay::PathKind kind : pace.kinds) {
      time += path.total_ns[static_cast<std::size_t>(kind)];
    }
    if (time <= most) continue;
    most = time;
    meaning = pace.meaning;
  }
  const double share =
      path.length_ns > 0 ? static_cast<double>(most) / static_cast<double>(path.length_ns) : 0;
  return fmt::format("{} of the way, {}", Percent(share), meaning);
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
  out << '\n';
  WriteLabelled("", 0, Meaning(replay.path), style, out);
  out << '\n';
  (void)Shape(*table, {.sort = "", .reverse = false, .limit = kParts});
  const std::size_t left = table->left_out;
  WriteTable(*table, style, {.indent = 2, .fill = false, .notes = false}, out);
  if (left > 0) {
    out << "  "
        << style.Paint(Tone::kFaint,
                       fmt::format("{} {} more: --table critical-path", style.more(), left))
        << '\n';
  }
}

}  // namespace hone::report
