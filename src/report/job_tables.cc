// SPDX-License-Identifier: Apache-2.0
// Tables about the job as a whole: collectives, ranks, losses.
#include "report/tables.h"
#include "trace/record_again.h"

namespace hone::report {

Known<Table> CollectivesTable(const Report& report) {
  const Known<analyze::CommFacts>& facts = report.leading().facts.comm;
  if (!facts) return Known<Table>::Absent(facts.why_not());
  Table table("collectives", "communication by kind and size",
              {{"kind", Unit::kText, 0},
               {"dtype", Unit::kText, 2},
               {"message_bytes", Unit::kBytes, 0},
               {"group_size", Unit::kCount, 1},
               {"count", Unit::kCount, 0},
               {"total_ms", Unit::kMillis, 0},
               {"mean_us", Unit::kMicros, 0},
               {"max_us", Unit::kMicros, 3},
               {"algorithm_gbytes_per_s", Unit::kNumber, 2},
               {"bus_gbytes_per_s", Unit::kNumber, 0}});
  for (const analyze::CollectiveRow& row : facts->rows) {
    table.Add({TextCell(row.kind), TextCell(row.dtype),
               row.message_bytes ? Cell(static_cast<std::int64_t>(*row.message_bytes)) : Cell(),
               KnownCount(row.group_size), CountCell(row.count), row.total_ns, row.mean_ns,
               row.max_ns, CellOf(row.algorithm_gbytes_per_s), CellOf(row.bus_gbytes_per_s)});
  }
  return table;
}

Known<Table> LossesTable(const Report& report) {
  const std::vector<analyze::LossRow>& losses = report.leading().facts.trust.losses;
  if (losses.empty()) return Known<Table>::Absent("nothing was lost");
  Table table("losses", "what could not be read or linked",
              {{"loss", Unit::kText, 0},
               {"severity", Unit::kText, 0},
               {"count", Unit::kCount, 0},
               {"time_share", Unit::kShare, 0},
               {"first", Unit::kText, 0},
               {"what", Unit::kText, 1},
               {"help", Unit::kText, 6}});
  for (const analyze::LossRow& row : losses) {
    const LossInfo& info = Describe(row.kind);
    table.Add({std::string_view(info.id), std::string_view(SeverityName(info.severity)),
               CountCell(row.count), CellOf(row.time_share), TextCell(row.detail),
               std::string_view(info.what),
               std::string_view(trace::LossHelp(report.leading().trace.info, row.kind))});
  }
  return table;
}

Known<Table> RanksTable(const Report& report) {
  if (report.inputs.size() < 2) return Known<Table>::Absent("one trace was given");
  Table table("ranks", "the ranks side by side",
              {{"rank", Unit::kCount, 0},
               {"path", Unit::kPath, 0},
               {"steps", Unit::kCount, 3},
               {"median_ms", Unit::kMillis, 0},
               {"p95_ms", Unit::kMillis, 3},
               {"busy_share", Unit::kShare, 0},
               {"exposed_comm_ms", Unit::kMillis, 2},
               {"idle_ms", Unit::kMillis, 2},
               {"wait_ms", Unit::kMillis, 1},
               {"last", Unit::kCount, 1},
               {"trust", Unit::kText, 0}});
  for (std::size_t i = 0; i < report.inputs.size(); ++i) {
    const Input& input = report.inputs[i];
    const analyze::Facts& facts = input.facts;
    const std::int64_t rank = RankNumber(report.inputs, i);
    const analyze::RankSkew* skew = nullptr;
    if (report.skew) {
      for (const analyze::RankSkew& row : report.skew->ranks) {
        if (row.rank == rank) skew = &row;
      }
    }
    const analyze::TimelineSplit* split =
        facts.timeline ? &facts.timeline->main_device().steady : nullptr;
    const bool stats = facts.steps.stats.has_value();
    table.Add(
        {KnownCount(rank), table.Keep(ShownPath(report, input)),
         CountCell(facts.steps.steady_count()), stats ? Cell(facts.steps.stats->median_ns) : Cell(),
         stats ? Cell(facts.steps.stats->p95_ns) : Cell(),
         split != nullptr && split->total_ns > 0
             ? Cell(static_cast<double>(split->busy_ns) / static_cast<double>(split->total_ns))
             : Cell(),
         split != nullptr ? Cell(split->exposed_comm_ns) : Cell(),
         split != nullptr ? Cell(split->idle_ns) : Cell(),
         skew != nullptr ? Cell(skew->wait_ns) : Cell(),
         skew != nullptr ? CountCell(skew->last) : Cell(),
         std::string_view(analyze::VerdictName(facts.trust.verdict))});
  }
  return table;
}

}  // namespace hone::report
