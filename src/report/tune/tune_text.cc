// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "base/utf8.h"
#include "report/tune/tune_report.h"
#include "report/tune/tune_table.h"
#include "report/tune/tune_words.h"

namespace hone::report {
namespace {

using tune::TuneResult;

constexpr std::size_t kIndent = 2, kLeastName = 20;

void WriteWrapped(std::string_view text, std::size_t indent, Tone tone, const Style& style,
                  std::ostream& out) {
  if (text.empty()) return;
  for (const std::string& line : WrapWords(style.Clean(text), style.width - indent)) {
    out << std::string(indent, ' ') << style.Paint(tone, line) << '\n';
  }
}

// To be copied: never wrapped, never elided.
void WriteCode(std::string_view code, std::size_t indent, const Style& style, std::ostream& out) {
  while (!code.empty()) {
    const std::size_t end = std::min(code.find('\n'), code.size());
    out << std::string(indent, ' ') << style.Clean(code.substr(0, end)) << '\n';
    code.remove_prefix(std::min(end + 1, code.size()));
  }
}

// Columns of numbers as wide as their widest cell; the name takes what is left.
class Columns {
 public:
  using Cells = std::vector<std::string>;

  explicit Columns(Cells heads) : heads_(std::move(heads)), widths_(heads_.size() - 1, 0) {
    Widen(heads_);
  }
  void Widen(const Cells& cells) {
    for (std::size_t i = 1; i < cells.size(); ++i) {
      widths_[i - 1] = std::max(widths_[i - 1], DisplayWidth(cells[i]) + 2);
    }
  }
  void WriteHead(const Style& style, std::ostream& out) const {
    out << style.Paint(Tone::kFaint, Line(heads_, style)) << '\n';
  }
  std::string Line(const Cells& cells, const Style& style) const {
    std::size_t numbers = 0;
    for (const std::size_t width : widths_) numbers += width;
    const std::size_t room = style.width - kIndent;
    const std::size_t name = room > numbers + kLeastName ? room - numbers : kLeastName;
    std::string line(kIndent, ' ');
    line += PadRight(ElideMiddle(cells[0], name, style.utf8), name);
    for (std::size_t i = 1; i < cells.size(); ++i) line += PadLeft(cells[i], widths_[i - 1]);
    return line;
  }

 private:
  Cells heads_;
  std::vector<std::size_t> widths_;
};

Columns::Cells CellsOf(const TuneTableRow& row, std::size_t number, const Style& style) {
  const std::string name = style.Clean(row.name);
  return {number == 0 ? name : fmt::format("{} {}", number, name),
          row.alone,
          row.total,
          row.rate,
          row.peak,
          row.loss};
}

void WriteAdopted(const TuneResult& result, const TuneTable& table, const Style& style,
                  std::ostream& out) {
  Columns columns(
      {"adopted, in this order", "alone", "total", std::string(RateUnit(result)), "peak", "loss"});
  for (std::size_t i = 0; i < table.adopted.size(); ++i) {
    columns.Widen(CellsOf(table.adopted[i], i, style));
  }
  out << '\n';
  columns.WriteHead(style, out);
  for (std::size_t i = 0; i < table.adopted.size(); ++i) {
    const TuneTableRow& row = table.adopted[i];
    out << columns.Line(CellsOf(row, i, style), style) << '\n';
    if (row.row == nullptr) continue;
    const std::vector<std::string> evidence = TuneEvidence(*row.row, style);
    WriteParts(evidence, std::vector<Tone>(evidence.size(), Tone::kFaint), kIndent + 2, style, out);
    const tune::Candidate& candidate = row.row->candidate;
    if (!candidate.where.empty()) {
      out << std::string(kIndent + 2, ' ') << style.Clean(candidate.where) << '\n';
    }
    WriteCode(candidate.code, kIndent + 4, style, out);
  }
}

void WriteOthers(const TuneResult& result, const TuneTable& table, const Style& style,
                 std::ostream& out) {
  Columns columns({"not adopted", "", std::string(RateUnit(result)), "peak", "loss"});
  const auto cells = [&](const TuneTableRow& row) {
    return Columns::Cells{style.Clean(row.name), row.alone, row.rate, row.peak, row.loss};
  };
  std::map<std::string, std::string> not_tried;  // why: names
  std::vector<const TuneTableRow*> tried;
  for (const TuneTableRow& row : table.others) {
    const tune::Row::Fate fate = row.row->fate;
    if (row.row->rate ||
        (fate != tune::Row::Fate::kNotTried && fate != tune::Row::Fate::kSuperseded)) {
      tried.push_back(&row);
      columns.Widen(cells(row));
      continue;
    }
    std::string& names = not_tried[TuneReason(*row.row)];
    names += (names.empty() ? "" : ", ") + row.name;
  }
  if (!tried.empty()) {
    out << '\n';
    columns.WriteHead(style, out);
  }
  for (const TuneTableRow* row : tried) {
    out << columns.Line(cells(*row), style) << '\n';
    WriteWrapped(TuneReason(*row->row), kIndent + 2, Tone::kFaint, style, out);
  }
  if (!not_tried.empty()) out << '\n';
  for (const auto& [why, names] : not_tried) {
    WriteWrapped(fmt::format("{}: {}", why, names), kIndent, Tone::kFaint, style, out);
  }
}

void WriteInapplicable(const TuneResult& result, const Style& style, std::ostream& out) {
  if (result.inapplicable.empty()) return;
  out << "\n  " << style.Paint(Tone::kFaint, "nothing to do here for") << '\n';
  for (const auto& [why, names] : TuneInapplicable(result)) {
    WriteWrapped(fmt::format("{}: {}", names, why), kIndent + 2, Tone::kFaint, style, out);
  }
}

void WriteAdvice(const TuneResult& result, const Style& style, std::ostream& out) {
  if (result.advice.empty()) return;
  out << "\n  " << style.Paint(Tone::kFaint, "worth a try by hand; cannot be put in from outside")
      << '\n';
  for (const tune::Advice& advice : result.advice) {
    const std::string where = advice.where.empty() ? "" : fmt::format(" ({})", advice.where);
    WriteWrapped(advice.title + where, kIndent, Tone::kPlain, style, out);
    WriteWrapped(advice.why, kIndent + 2, Tone::kFaint, style, out);
    WriteCode(advice.code, kIndent + 4, style, out);
  }
}

void WriteBatchSizes(const TuneResult& result, const Style& style, std::ostream& out) {
  if (result.batches.empty()) return;
  Columns columns({"batch size", "batch", "samples/s", "step", "peak"});
  std::vector<Columns::Cells> rows;
  for (const TuneBatchRow& row : MakeBatchTable(result)) {
    rows.push_back({style.Clean(row.name), row.batch, row.rate, row.step, row.peak});
    columns.Widen(rows.back());
  }
  out << '\n';
  columns.WriteHead(style, out);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Tone tone = result.best_batch == i ? Tone::kGood : Tone::kPlain;
    out << style.Paint(tone, columns.Line(rows[i], style)) << '\n';
    WriteWrapped(result.batches[i].why, kIndent + 2, Tone::kFaint, style, out);
  }
}

}  // namespace

void WriteTuneText(const TuneResult& result, const Style& style, std::ostream& out) {
  const TuneOutcome outcome = OutcomeOf(result);
  const Tone tone = outcome == TuneOutcome::kFaster ? Tone::kGood : Tone::kWarn;
  if (result.batches.empty()) WriteWrapped(TuneVerdict(result, style), 0, tone, style, out);
  WriteParts(TuneHeadline(result, style), {}, kIndent, style, out);
  WriteBatchSizes(result, style, out);
  if (result.batches.empty()) {
    const TuneTable table = MakeTuneTable(result);
    if (outcome != TuneOutcome::kNothing) WriteAdopted(result, table, style, out);
    WriteOthers(result, table, style, out);
    WriteInapplicable(result, style, out);
    WriteAdvice(result, style, out);
  }
  if (!result.notes.empty() || !result.ended.empty()) out << '\n';
  if (!result.ended.empty()) WriteLabelled("stopped", 15, style.Clean(result.ended), style, out);
  for (const std::string& note : result.notes) {
    WriteLabelled("note", 15, style.Clean(note), style, out);
  }
  const auto next = TuneNext(result);
  if (!next.empty()) out << '\n';
  for (const auto& [command, what] : next) {
    out << "  " << style.Paint(Tone::kFaint, what) << '\n'
        << std::string(kIndent + 2, ' ') << style.Paint(Tone::kStrong, style.Clean(command))
        << '\n';
  }
}

}  // namespace hone::report
