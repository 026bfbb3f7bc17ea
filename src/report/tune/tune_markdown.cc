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
  return {number,   Markdown(row.name),   row.rate, row.alone, row.total, row.predicted, row.peak,
          row.loss, Markdown(row.verdict)};
}

void WriteBatches(const tune::TuneResult& result, std::ostream& out) {
  std::vector<std::vector<std::string>> rows;
  for (const TuneBatchRow& row : MakeBatchTable(result)) {
    const std::string& why = result.batches[rows.size()].why;
    rows.push_back({Markdown(row.name), row.batch, row.rate, row.step, row.peak, Markdown(why)});
  }
  WriteMarkdownTable({"", "batch", "samples/s", "step", "peak memory", ""}, "lrrrrl", rows, out);
}

}  // namespace

void WriteTuneMarkdown(const tune::TuneResult& result, std::ostream& out) {
  const Style plain;
  if (result.batches.empty()) out << "**" << Markdown(TuneVerdict(result, plain)) << "**\n\n";
  out << Markdown(fmt::format("{}", fmt::join(TuneHeadline(result, plain), " · "))) << "\n\n";
  if (!result.batches.empty()) {
    WriteBatches(result, out);
    return;
  }
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
  for (const tune::Advice& advice : result.advice) {
    out << "- by hand: " << Markdown(advice.title) << ". " << Markdown(advice.why) << '\n';
  }
  if (!result.ended.empty()) out << "- stopped: " << Markdown(result.ended) << '\n';
  for (const std::string& note : result.notes) out << "- " << Markdown(note) << '\n';
}

}  // namespace hone::report
