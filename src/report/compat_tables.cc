// SPDX-License-Identifier: Apache-2.0
// Tables in the shape of other tools, so that a user can lay them side by side.
#include "report/tables.h"

namespace hone::report {

// TraceLens: the sheet gpu_timeline.
Known<Table> TraceLensTimelineTable(const Report& report) {
  const auto& facts = report.leading().tracelens;
  if (!facts) return Known<Table>::Absent("not asked for; add --compat tracelens");
  if (!facts->timeline) return Known<Table>::Absent(facts->timeline.why_not());
  Table table(
      "tracelens-timeline", "gpu_timeline by TraceLens's rules",
      {{"type", Unit::kText, 0}, {"time_ms", Unit::kNumber, 0}, {"percent", Unit::kNumber, 0}});
  const analyze::TraceLensTimeline& timeline = *facts->timeline;
  const auto add = [&](std::string_view type, double ms) {
    table.Add({type, ms, timeline.total > 0 ? Cell(ms / timeline.total * 100) : Cell()});
  };
  add("computation_time", timeline.computation);
  add("exposed_comm_time", timeline.exposed_comm);
  add("exposed_memcpy_time", timeline.exposed_memcpy);
  add("busy_time", timeline.busy);
  add("idle_time", timeline.idle);
  add("total_time", timeline.total);
  add("total_comm_time", timeline.total_comm);
  add("total_memcpy_time", timeline.total_memcpy);
  return table;
}

// TraceLens: the sheet kernel_summary.
Known<Table> TraceLensKernelsTable(const Report& report) {
  const auto& facts = report.leading().tracelens;
  if (!facts) return Known<Table>::Absent("not asked for; add --compat tracelens");
  Table table("tracelens-kernels", "kernel_summary by TraceLens's rules",
              {{"category", Unit::kText, 3},
               {"parent_op", Unit::kText, 0},
               {"kernel", Unit::kKernel, 0},
               {"stream", Unit::kCount, 2},
               {"sum_us", Unit::kNumber, 0},
               {"count", Unit::kCount, 0},
               {"mean_us", Unit::kNumber, 0},
               {"min_us", Unit::kNumber, 4},
               {"max_us", Unit::kNumber, 4},
               {"pct_of_kernels", Unit::kNumber, 1},
               {"pct_of_total", Unit::kNumber, 1}});
  for (const analyze::TraceLensKernelRow& row : facts->kernels) {
    table.Add({TextCell(row.category), TextCell(row.parent_op), TextCell(row.kernel), row.stream,
               row.sum, CountCell(row.count), row.mean, row.min, row.max, row.pct_of_kernels,
               row.pct_of_total});
  }
  return table;
}

// HTA: get_temporal_breakdown, and the ratio of get_comm_comp_overlap.
Known<Table> HtaBreakdownTable(const Report& report) {
  const auto& facts = report.leading().hta;
  if (!facts) return Known<Table>::Absent("not asked for; add --compat hta");
  if (!facts->breakdown) return Known<Table>::Absent(facts->breakdown.why_not());
  Table table(
      "hta-breakdown", "temporal breakdown by HTA's rules",
      {{"type", Unit::kText, 0}, {"time_us", Unit::kNumber, 0}, {"percent", Unit::kNumber, 0}});
  const analyze::HtaBreakdown& split = *facts->breakdown;
  table.Add({std::string_view("kernel_time"), split.kernel_time, Cell()});
  table.Add({std::string_view("idle_time"), split.idle, split.idle_pct});
  table.Add({std::string_view("compute_time"), split.compute, split.compute_pct});
  table.Add({std::string_view("non_compute_time"), split.non_compute, split.non_compute_pct});
  table.Add({std::string_view("comm_comp_overlap"), Cell(), CellOf(facts->comm_comp_overlap_pct)});
  return table;
}

// HTA: get_idle_time_breakdown.
Known<Table> HtaIdleTable(const Report& report) {
  const auto& facts = report.leading().hta;
  if (!facts) return Known<Table>::Absent("not asked for; add --compat hta");
  Table table("hta-idle", "idle time by stream, by HTA's rules",
              {{"stream", Unit::kCount, 0},
               {"category", Unit::kText, 0},
               {"idle_us", Unit::kNumber, 0},
               {"ratio", Unit::kNumber, 0}});
  for (const analyze::HtaIdleRow& row : facts->idle) {
    table.Add({row.stream, TextCell(row.category), row.idle_us, row.ratio});
  }
  return table;
}

}  // namespace hone::report
