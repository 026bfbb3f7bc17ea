// SPDX-License-Identifier: Apache-2.0
#include "report/bench/bench_rows.h"
#include "report/bench/bench_text.h"
#include "report/bench/bench_words.h"
#include "report/markdown/markdown_words.h"

namespace hone::report {

void WriteBenchMarkdown(const bench::Benchmark& benchmark, std::ostream& out) {
  for (const bench::Comparison& comparison : benchmark.comparisons) {
    out << "**" << Markdown(VerdictLine(benchmark, comparison, "–")) << "**\n\n";
    for (const std::string& reason : Reasons(benchmark, comparison)) {
      out << Markdown(reason) << "\n\n";
    }
  }
  std::vector<std::string> heads{""};
  for (const bench::Arm& arm : benchmark.arms) heads.push_back(Markdown(arm.name));
  std::vector<std::vector<std::string>> rows;
  for (const BenchRow& row : BenchRows(benchmark)) {
    rows.push_back({Markdown(row.label)});
    for (const std::string& cell : row.cells) rows.back().push_back(Markdown(cell));
  }
  WriteMarkdownTable(heads, "l" + std::string(benchmark.arms.size(), 'r'), rows, out);
  out << '\n';
  for (const std::string& remark : Remarks(benchmark)) out << "- " << Markdown(remark) << '\n';
  for (const bench::Arm& arm : benchmark.arms) {
    out << "- " << Markdown(arm.name) << ": " << MarkdownCode(CommandText(arm)) << '\n';
  }
}

}  // namespace hone::report
