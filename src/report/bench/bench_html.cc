// SPDX-License-Identifier: Apache-2.0
#include "report/bench/bench_html.h"

#include <string>

#include "report/bench/bench_rows.h"
#include "report/bench/bench_svg.h"
#include "report/bench/bench_words.h"
#include "report/html/static_page.h"
#include "report/html/xml_text.h"

namespace hone::report {

void WriteBenchHtml(const bench::Benchmark& benchmark, std::ostream& out) {
  BeginPage("hone bench", out);
  WriteBenchSvg(benchmark, out);
  for (const bench::Comparison& comparison : benchmark.comparisons) {
    for (const std::string& reason : Reasons(benchmark, comparison)) {
      WriteParagraph(reason, "", out);
    }
  }
  out << "<table class=\"words\"><tr><th></th>";
  for (const bench::Arm& arm : benchmark.arms) out << "<th>" << XmlText(arm.name) << "</th>";
  out << "<th></th></tr>\n";
  for (const BenchRow& row : BenchRows(benchmark)) {
    out << "<tr><td>" << XmlText(row.label) << "</td>";
    for (const std::string& cell : row.cells) out << "<td>" << XmlText(cell) << "</td>";
    out << "<td class=\"faint\">" << XmlText(row.note) << "</td></tr>\n";
  }
  out << "</table>\n";
  for (const std::string& remark : Remarks(benchmark)) WriteParagraph(remark, "", out);
  for (const bench::Arm& arm : benchmark.arms) {
    out << "<p><b>" << XmlText(arm.name) << "</b> <code>" << XmlText(CommandText(arm))
        << "</code></p>\n";
  }
  EndPage(out);
}

}  // namespace hone::report
