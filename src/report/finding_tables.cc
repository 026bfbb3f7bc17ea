// SPDX-License-Identifier: Apache-2.0
// Tables of the doctor: findings, and the critical path by name.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "report/tables.h"

namespace hone::report {
namespace {

Cell MillisCell(const Known<double>& nanos) {
  return nanos ? Cell(static_cast<std::int64_t>(std::llround(*nanos))) : Cell();
}

std::string_view FirstSource(const doctor::Finding& finding) {
  for (const doctor::Place& place : finding.where) {
    if (!place.source.empty()) return place.source;
  }
  return {};
}

}  // namespace

Known<Table> FindingsTable(const Report& report) {
  if (!report.diagnosis) return Known<Table>::Absent(report.diagnosis.why_not());
  Table table("findings", "what is wrong, best first",
              {{"id", Unit::kText, 0},
               {"title", Unit::kText, 2},
               {"speedup", Unit::kTimes, 0},
               {"recoverable_ms", Unit::kMillis, 0},
               {"predicted_step_ms", Unit::kMillis, 4},
               {"speedup_after", Unit::kTimes, 5},
               {"severity", Unit::kText, 1},
               {"confidence", Unit::kText, 3},
               {"effort", Unit::kText, 3},
               {"source", Unit::kPath, 6},
               {"evidence", Unit::kText, kDataOnly},
               {"remedy", Unit::kText, kDataOnly}});
  for (const doctor::Finding& finding : report.diagnosis->findings) {
    const Known<double> predicted =
        finding.predicted ? Known<double>(finding.predicted->likely_ns) : Known<double>();
    table.Add({TextCell(finding.id), TextCell(finding.title), CellOf(finding.speedup),
               MillisCell(finding.recoverable_ns), MillisCell(predicted),
               CellOf(finding.speedup_after), doctor::SeverityName(finding.severity),
               doctor::ConfidenceName(finding.confidence), doctor::EffortName(finding.effort),
               TextCell(FirstSource(finding)),
               TextCell(table.Keep(fmt::format("{}", fmt::join(finding.evidence, "; ")))),
               TextCell(finding.remedy)});
  }
  return table;
}

Known<Table> CriticalPathTable(const Report& report) {
  if (!report.diagnosis) return Known<Table>::Absent(report.diagnosis.why_not());
  const Known<doctor::ReplayFacts>& replay = report.diagnosis->replay;
  if (!replay) return Known<Table>::Absent(replay.why_not());
  Table table("critical-path", "what decides how long a step takes, by name",
              {{"kind", Unit::kText, 0},
               {"name", Unit::kKernel, 0},
               {"ms", Unit::kMillis, 0},  // a step
               {"share", Unit::kShare, 0},
               {"per_step", Unit::kNumber, 1}});  // stretches of the path
  const auto steps = static_cast<double>(replay->steps);
  for (const replay::PathPart& part : replay->path_parts) {
    table.Add({replay::PathKindId(part.kind), TextCell(part.name),
               static_cast<std::int64_t>(std::llround(static_cast<double>(part.total_ns) / steps)),
               static_cast<double>(part.total_ns) / static_cast<double>(replay->path.length_ns),
               static_cast<double>(part.count) / steps});
  }
  return table;
}

}  // namespace hone::report
