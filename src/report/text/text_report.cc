// SPDX-License-Identifier: Apache-2.0
#include "report/text/text_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "report/tables.h"
#include "report/text/finding_full_text.h"
#include "report/text/findings_text.h"
#include "report/text/next.h"
#include "report/text/notes.h"
#include "report/text/table_text.h"
#include "report/text/tops.h"
#include "report/words/breakdown.h"
#include "report/words/headline.h"

namespace hone::report {
namespace {

constexpr std::size_t kScreen = 46;  // lines of the first screen that optional sections may fill

void WriteNotes(const std::vector<Note>& notes, const Style& style, std::ostream& out) {
  if (!notes.empty()) out << '\n';
  for (const Note& note : notes) WriteLabelled(note.label, kLabelWidth, note.text, style, out);
}

std::size_t LineCount(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

template <typename Write>
std::string Text(Write&& write) {
  std::ostringstream out;
  write(out);
  return out.str();
}

// What stands between the findings and the last lines, dearest first where room is scarce.
void WriteMiddle(const Report& report, const Style& style, std::size_t room, std::ostream& out) {
  const auto text = [&](auto&& write) { return Text(write); };
  std::string kernels = text([&](auto& o) { WriteTopKernels(report, style, o); });
  std::string ops = text([&](auto& o) { WriteTopOps(report, style, o); });
  std::string notes = text([&](auto& o) { WriteNotes(CollectNotes(report, style), style, o); });
  std::string absent = text([&](auto& o) { WriteNotes(AbsentSections(report, style), style, o); });
  for (std::string* section : {&kernels, &ops, &notes, &absent}) {
    const std::size_t lines = LineCount(*section);
    if (lines > room) {
      section->clear();
    } else {
      room -= lines;
    }
  }
  out << kernels << ops << notes << absent;
}

void WriteAll(const Report& report, const TextOptions& options, std::ostream& out) {
  for (const TableInfo& info : AllTables()) {
    Known<Table> table = info.build(report);
    if (!table || info.name == "findings") continue;  // said above
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
  const std::string head = Text([&](std::ostream& text) {
    WriteHeadline(report, style, text);
    WriteKeyNumbers(report, style, text);
    WriteTrust(input.facts.trust, style, text);
    text << '\n';
    if (breakdown) {
      WriteBreakdown(*breakdown, style, text);
    } else {
      WriteLabelled("device", kLabelWidth, style.Clean(breakdown.why_not()), style, text);
    }
    WriteFindings(report, breakdown, options.all, style, text);
    if (options.all) WriteFindingsInFull(report, style, text);
    if (report.inputs.size() > 1) WriteRanks(report, style, text);
  });
  const std::string tail = Text([&](std::ostream& text) {
    WriteNotChecked(report, options.all, style, text);
    if (!options.all) WriteNext(report, breakdown, style, text);
  });
  out << head;
  const std::size_t used = LineCount(head) + LineCount(tail);
  WriteMiddle(report, style, options.all ? SIZE_MAX : kScreen - std::min(kScreen, used), out);
  out << tail;
  if (options.all) WriteAll(report, {style, true, options.all_limit}, out);
}

}  // namespace hone::report
