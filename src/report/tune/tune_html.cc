// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/text.h"
#include "report/bench/bench_svg.h"
#include "report/html/static_page.h"
#include "report/html/xml_text.h"
#include "report/tune/tune_report.h"
#include "report/tune/tune_table.h"
#include "report/tune/tune_words.h"

namespace hone::report {
namespace {

using tune::TuneResult;

void WriteCode(std::string_view code, std::ostream& out) {
  out << "<pre><code>";
  while (!code.empty()) {
    const std::size_t end = std::min(code.find('\n'), code.size());
    out << XmlText(code.substr(0, end)) << '\n';
    code.remove_prefix(std::min(end + 1, code.size()));
  }
  out << "</code></pre>\n";
}

void WriteRow(const std::vector<std::string>& cells, const char* tag, std::ostream& out) {
  out << "<tr>";
  for (const std::string& cell : cells) {
    out << '<' << tag << '>' << XmlText(cell) << "</" << tag << '>';
  }
  out << "</tr>\n";
}

// How far each adopted one brought the program: a bar a row.
void WriteBars(const TuneResult& result, const TuneTable& table, std::ostream& out) {
  double most = result.baseline_rate;
  for (const TuneTableRow& row : table.adopted) {
    if (row.row != nullptr) most = std::max(most, row.row->cumulative_rate.value_or(0));
  }
  if (!(most > 0)) return;
  out << "<table class=\"words\">\n";
  for (const TuneTableRow& row : table.adopted) {
    const double rate =
        row.row == nullptr ? result.baseline_rate : row.row->cumulative_rate.value_or(0);
    const std::string name = row.row == nullptr ? row.name : "+ " + row.name;
    out << "<tr><td>" << XmlText(name) << "</td><td style=\"width:50%\"><div class=\"bar\" "
        << fmt::format("style=\"width:{:.1f}%\"></div></td><td>{} {}</td></tr>\n",
                       rate / most * 100, XmlText(row.rate), RateUnit(result));
  }
  out << "</table>\n";
}

void WriteTables(const TuneResult& result, std::ostream& out) {
  const TuneTable table = MakeTuneTable(result);
  if (table.adopted.size() > 1) WriteBars(result, table, out);
  out << "<h2>everything that was tried</h2>\n<div class=\"scroll\"><table class=\"words\">\n";
  WriteRow({"optimization", std::string(RateUnit(result)), "alone", "total", "predicted",
            "peak memory", "loss", "verdict"},
           "th", out);
  const auto write = [&](const TuneTableRow& row) {
    std::string verdict = row.verdict;
    if (row.row != nullptr && row.row->fate != tune::Row::Fate::kAdopted) {
      verdict = TuneReason(*row.row);
    }
    WriteRow({row.name, row.rate, row.alone, row.total, row.predicted, row.peak, row.loss, verdict},
             "td", out);
  };
  for (const TuneTableRow& row : table.adopted) write(row);
  for (const TuneTableRow& row : table.others) write(row);
  out << "</table></div>\n";
  const Style plain;
  for (const TuneTableRow& row : table.adopted) {
    if (row.row == nullptr) continue;
    out << "<h2>" << XmlText(row.name) << "</h2>\n";
    WriteParagraph(fmt::format("{}", fmt::join(TuneEvidence(*row.row, plain), " · ")), "faint",
                   out);
    if (!row.row->candidate.where.empty()) WriteParagraph(row.row->candidate.where, "faint", out);
    if (!row.row->candidate.code.empty()) WriteCode(row.row->candidate.code, out);
  }
}

void WriteBatches(const TuneResult& result, std::ostream& out) {
  out << "<div class=\"scroll\"><table class=\"words\">\n";
  WriteRow({"batch size", "batch", "samples/s", "step", "peak memory", ""}, "th", out);
  std::size_t i = 0;
  for (const TuneBatchRow& row : MakeBatchTable(result)) {
    WriteRow({row.name, row.batch, row.rate, row.step, row.peak, result.batches[i++].why}, "td",
             out);
  }
  out << "</table></div>\n";
}

void WriteRest(const TuneResult& result, std::ostream& out) {
  if (!result.inapplicable.empty()) out << "<h2>nothing to do here</h2>\n<table class=\"words\">\n";
  for (const auto& [why, names] : TuneInapplicable(result)) WriteRow({names, why}, "td", out);
  if (!result.inapplicable.empty()) out << "</table>\n";
  if (!result.advice.empty()) out << "<h2>worth a try by hand</h2>\n";
  for (const tune::Advice& advice : result.advice) {
    WriteParagraph(
        advice.where.empty() ? advice.title : fmt::format("{} ({})", advice.title, advice.where),
        "", out);
    WriteParagraph(advice.why, "faint", out);
    if (!advice.code.empty()) WriteCode(advice.code, out);
  }
  if (!result.patch.empty()) {
    out << "<h2>patch</h2>\n";
    WriteCode(result.patch, out);
  }
  if (!result.ended.empty()) WriteParagraph("stopped: " + result.ended, "", out);
  for (const std::string& note : result.notes) WriteParagraph(note, "faint", out);
  for (const auto& [command, what] : TuneNext(result)) {
    WriteParagraph(what, "faint", out);
    WriteCode(command, out);
  }
}

}  // namespace

void WriteTuneHtml(const TuneResult& result, std::ostream& out) {
  const Style plain;
  BeginPage("hone tune", out);
  if (result.batches.empty()) {
    out << "<h1>" << XmlText(TuneVerdict(result, plain)) << "</h1>\n";
  } else {
    out << "<h1>batch size of " << XmlText(fmt::format("{}", fmt::join(result.command, " ")))
        << "</h1>\n";
  }
  WriteParagraph(fmt::format("{}", fmt::join(TuneHeadline(result, plain), " · ")), "faint", out);
  if (result.batches.empty()) {
    WriteTables(result, out);
  } else {
    WriteBatches(result, out);
  }
  if (result.confirmation && !result.confirmation->comparisons.empty()) {
    out << "<h2>the proof: as it is (A) against the winner (B), in turns</h2>\n"
           "<div class=\"scroll\">";
    WriteBenchSvg(*result.confirmation, out);
    out << "</div>\n";
  }
  WriteRest(result, out);
  EndPage(out);
}

}  // namespace hone::report
