// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"
#include "report/markdown/markdown_words.h"
#include "report/tune/tune_report.h"
#include "report/tune/tune_table.h"
#include "report/tune/tune_words.h"

namespace hone::report {
namespace {

std::vector<std::string> CellsOf(const TuneTableRow& row, const std::string& number) {
  return {number, Markdown(row.name), row.rate, row.alone, row.total, row.predicted,
          row.peak, row.loss, Markdown(row.verdict)};
}

}  // namespace

void WriteTuneMarkdown(const tune::TuneResult& result, std::ostream& out) {
  const Style plain;
  out << "**" << Markdown(TuneVerdict(result, plain)) << "**\n\n"
      << Markdown(fmt::format("{}", fmt::join(TuneHeadline(result, plain), " · "))) << "\n\n";
  const TuneTable table = MakeTuneTable(result);
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < table.adopted.size(); ++i) {
    rows.push_back(CellsOf(table.adopted[i], i == 0 ? "" : fmt::to_string(i)));
  }
  for (const TuneTableRow& row : table.others) rows.push_back(CellsOf(row, ""));
  WriteMarkdownTable({"", "optimization", std::string(RateUnit(result)), "alone", "total",
                      "predicted", "peak memory", "loss", "verdict"},
                     "rlrrrrrrl", rows, out);
  out << '\n';
  for (const TuneTableRow& row : table.adopted) {
    if (row.row == nullptr) continue;
    out << "- " << Markdown(row.name) << ": "
        << Markdown(fmt::format("{}", fmt::join(TuneEvidence(*row.row, plain), " · "))) << "\n";
    if (row.row->candidate.code.empty()) continue;
    out << '\n';
    WriteMarkdownCode("python", row.row->candidate.code, out);
    out << '\n';
  }
  for (const TuneTableRow& row : table.others) {
    out << "- " << Markdown(row.name) << ": " << Markdown(TuneReason(*row.row)) << '\n';
  }
  for (const tune::BatchRow& row : result.batches) {
    out << "- batch " << row.batch << ": "
        << (row.rate ? ThreeDigits(*row.rate) + " samples/s" : Markdown(row.why))
        << (row.best ? " (best)" : "") << '\n';
  }
  for (const tune::Advice& advice : result.advice) {
    out << "- by hand: " << Markdown(advice.title) << ". " << Markdown(advice.why) << '\n';
  }
  if (!result.ended.empty()) out << "- stopped: " << Markdown(result.ended) << '\n';
  for (const std::string& note : result.notes) out << "- " << Markdown(note) << '\n';
}

}  // namespace hone::report
