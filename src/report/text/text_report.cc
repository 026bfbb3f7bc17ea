// SPDX-License-Identifier: Apache-2.0
#include "report/text/text_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "base/text.h"
#include "base/utf8.h"
#include "report/tables.h"
#include "report/text/breakdown.h"
#include "report/text/findings_text.h"
#include "report/text/headline.h"
#include "report/text/notes.h"
#include "report/text/table_text.h"

namespace hone::report {
namespace {

constexpr std::size_t kTopRows = 5;

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

void WriteTops(const Report& report, const Style& style, std::ostream& out) {
  const analyze::Facts& facts = report.leading().facts;
  WriteTop(KernelsTable(report),
           {{"name", "top_kernels"}, {"count", "calls"}, {"total_ms", "ms"}, {"share", "share"}},
           style, out);
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
                      8);
  WriteTable(top, style, {.indent = 2, .fill = true, .notes = false}, out);
  if (report.inputs.size() > 8) {
    out << "  " << style.more() << ' ' << report.inputs.size() - 8 << " more: --table ranks\n";
  }
}

bool IsPlainWord(const std::string& text) {
  return !text.empty() && text[0] != '-' &&
         text.find_first_not_of(
             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
             "_-./+=:@%,") == std::string::npos;
}

// The table that says more about the largest part of the step.
std::pair<std::string, std::string> NextTable(const Known<Breakdown>& breakdown, bool python) {
  const std::pair<std::string, std::string> ops = {"--table ops", "every operator"};
  if (!breakdown || breakdown->rows.empty()) return ops;
  const BreakdownRow& largest =
      *std::max_element(breakdown->rows.begin(), breakdown->rows.end(),
                        [](const auto& a, const auto& b) { return a.time_ns < b.time_ns; });
  if (largest.tone == Tone::kCompute) return {"--table kernels", "every kernel"};
  if (largest.tone == Tone::kComm) return {"--table collectives", "every collective"};
  if (largest.tone == Tone::kCopy) return {"--table transfers", "every kind of copy"};
  if (!largest.cause) return ops;
  switch (*largest.cause) {
    case analyze::IdleCause::kSync:
    case analyze::IdleCause::kCopy: return {"--table syncs", "every call that makes the host wait"};
    case analyze::IdleCause::kCommunication: return {"--table collectives", "every collective"};
    case analyze::IdleCause::kLaunch:
      return {"--table ops --sort host_self", "what costs the host"};
    case analyze::IdleCause::kHostWork:
      if (python) return {"--table python", "where Python spends its time"};
      return {"--table ops --sort host_self", "what costs the host"};
    default: return {"--table idle", "every cause of idle time"};
  }
}

void WriteNext(const Report& report, const Known<Breakdown>& breakdown, const Style& style,
               std::ostream& out) {
  const std::string path = ShownPath(report, report.leading());
  const std::pair<std::string, std::string> lines[] = {
      NextTable(breakdown, report.leading().facts.python.has_value()),
      {"--all", "every section"},
      {"--json", "for programs"}};
  std::size_t width = 0;
  for (const auto& line : lines) width = std::max(width, line.first.size());
  // Lines that can be pasted as they are; the remarks give way first.
  const bool usable =
      report.inputs.size() == 1 && IsPlainWord(path) && 8 + 14 + path.size() + width <= style.width;
  const std::string trace = usable ? path : "TRACE";
  out << '\n';
  const char* label = "next  ";
  for (const auto& [flags, what] : lines) {
    const std::string command = fmt::format("hone analyze {} {}", trace, flags);
    const std::size_t column = 14 + trace.size() + width + 3;
    out << "  " << style.Paint(Tone::kFaint, label);
    if (8 + column + what.size() <= style.width) {
      out << PadRight(command, column) << style.Paint(Tone::kFaint, what) << '\n';
    } else {
      out << command << '\n';
    }
    label = "      ";
  }
}

void WriteNotes(const Report& report, const Style& style, std::ostream& out) {
  for (const std::vector<Note>& notes :
       {CollectNotes(report, style), AbsentSections(report, style)}) {
    if (!notes.empty()) out << '\n';
    for (const Note& note : notes) WriteLabelled(note.label, kLabelWidth, note.text, style, out);
  }
}

void WriteAll(const Report& report, const TextOptions& options, std::ostream& out) {
  for (const TableInfo& info : AllTables()) {
    Known<Table> table = info.build(report);
    if (!table) continue;  // the first screen said why
    const TableShape shape = {
        .sort = table->text_order,
        .reverse = false,
        .limit = options.all_limit == 0 ? std::nullopt : std::optional(options.all_limit)};
    (void)Shape(*table, shape);
    out << '\n';
    WriteTextTable(table, info.name, options.style, out);
  }
}

}  // namespace

void WriteTextTable(const Known<Table>& table, std::string_view name, const Style& style,
                    std::ostream& out) {
  if (!table) {
    WriteLabelled(fmt::format("{}:", name), name.size() + 2, style.Clean(table.why_not()), style,
                  out, Tone::kStrong);
    return;
  }
  WriteParts({table->name, table->title}, {Tone::kStrong}, 2, style, out);
  out << '\n';
  if (table->rows.empty()) {
    out << "  none\n";
    return;
  }
  WriteTable(*table, style, {}, out);
}

void WriteText(const Report& report, const TextOptions& options, std::ostream& out) {
  Style style = options.style;
  style.width = std::max(style.width, kLeastWidth);
  const Input& input = report.leading();
  const Known<Breakdown> breakdown = SplitStep(input);
  WriteHeadline(report, style, out);
  WriteKeyNumbers(report, style, out);
  WriteTrust(input.facts.trust, style, out);
  out << '\n';
  if (breakdown) {
    WriteBreakdown(*breakdown, style, out);
  } else {
    WriteLabelled("device", kLabelWidth, style.Clean(breakdown.why_not()), style, out);
  }
  WriteFindings(report, breakdown, options.all, style, out);
  if (options.all) WriteFindingsInFull(report, style, out);
  if (report.inputs.size() > 1) WriteRanks(report, style, out);
  WriteTops(report, style, out);
  WriteNotChecked(report, options.all, style, out);
  WriteNotes(report, style, out);
  if (options.all) {
    WriteAll(report, {style, true, options.all_limit}, out);
  } else {
    WriteNext(report, breakdown, style, out);
  }
}

}  // namespace hone::report
