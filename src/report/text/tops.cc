// SPDX-License-Identifier: Apache-2.0
#include "report/text/tops.h"

#include <algorithm>
#include <unordered_set>

#include "report/tables.h"
#include "report/text/table_text.h"

namespace hone::report {
namespace {

constexpr std::size_t kTopRows = 3, kTopRanks = 8;

// A few columns of a table under other headings.
Table Extract(const Table& table, const std::vector<std::pair<std::string, std::string>>& columns,
              std::size_t limit) {
  std::vector<Column> chosen;
  std::vector<std::size_t> indexes;
  for (const auto& [id, heading] : columns) {
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      if (table.columns[i].id != id) continue;
      chosen.push_back({heading, table.columns[i].unit, 0});
      indexes.push_back(i);
    }
  }
  Table extract(table.name, table.title, std::move(chosen));
  for (std::size_t row = 0; row < std::min(limit, table.rows.size()); ++row) {
    std::vector<Cell> cells;
    for (const std::size_t i : indexes) cells.push_back(table.rows[row][i]);
    extract.Add(std::move(cells));
  }
  return extract;
}

void WriteTop(const Known<Table>& table,
              const std::vector<std::pair<std::string, std::string>>& columns, const Style& style,
              std::ostream& out) {
  if (!table || table->rows.empty()) return;
  out << '\n';
  WriteTable(Extract(*table, columns, kTopRows), style, {.indent = 2, .fill = true, .notes = false},
             out);
}

}  // namespace

void WriteTopKernels(const Report& report, const Style& style, std::ostream& out) {
  WriteTop(KernelsTable(report),
           {{"name", "top_kernels"}, {"count", "calls"}, {"total_ms", "ms"}, {"share", "share"}},
           style, out);
}

void WriteTopOps(const Report& report, const Style& style, std::ostream& out) {
  const analyze::Facts& facts = report.leading().facts;
  Known<Table> ops = OpsTable(report);
  if (!ops) return;
  const bool device = facts.timeline.has_value() && facts.trust.present.api_calls > 0;
  // A column of the table itself; cannot fail.
  (void)Shape(*ops, {.sort = device ? "device_self_ms" : "host_self_ms"});
  // The mark of a step spans it; its own time is not an operator's.
  std::unordered_set<std::string_view> marks;
  for (const analyze::Step& step : facts.steps.steps) marks.insert(step.name);
  const std::size_t self = *FindColumn(*ops, device ? "device_self_ms" : "host_self_ms");
  std::erase_if(ops->rows, [&](const std::vector<Cell>& row) {
    const std::int64_t* time = row[self].integer();
    return time == nullptr || *time == 0 ||
           (row[0].text() != nullptr && marks.count(*row[0].text()) > 0);
  });
  if (device) {
    WriteTop(ops,
             {{"name", "top_ops,_by_the_device_time_they_launch"},
              {"calls", "calls"},
              {"device_self_ms", "device_ms"},
              {"host_self_ms", "host_ms"},
              {"device_self_share", "share"}},
             style, out);
  } else {
    WriteTop(ops,
             {{"name", "top_ops,_by_host_time"},
              {"calls", "calls"},
              {"host_self_ms", "self_ms"},
              {"host_total_ms", "total_ms"}},
             style, out);
  }
}

void WriteRanks(const Report& report, const Style& style, std::ostream& out) {
  Known<Table> ranks = RanksTable(report);
  if (!ranks) return;
  (void)Shape(*ranks, {.sort = "median_ms"});
  out << '\n';
  Table top = Extract(*ranks,
                      {{"rank", "rank"},
                       {"path", "slowest_first"},
                       {"median_ms", "step_ms"},
                       {"busy_share", "GPU_busy"},
                       {"wait_ms", "waits_ms"},
                       {"trust", "trust"}},
                      kTopRanks);
  WriteTable(top, style, {.indent = 2, .fill = true, .notes = false}, out);
  if (report.inputs.size() > kTopRanks) {
    out << "  " << style.more() << ' ' << report.inputs.size() - kTopRanks
        << " more: --table ranks\n";
  }
}

}  // namespace hone::report
