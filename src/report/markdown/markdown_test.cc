// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <sstream>

#include "report/markdown/markdown_report.h"
#include "report/markdown/markdown_words.h"
#include "report/sample_report_test.h"

namespace hone::report {
namespace {

TEST(Markdown, NothingIsEaten) {
  EXPECT_EQ(Markdown("a|b `c` <img> *d* _e_ [f](g) \\ #1 & ~h~"),
            "a\\|b \\`c\\` \\<img\\> \\*d\\* \\_e\\_ \\[f\\](g) \\\\ \\#1 &amp; \\~h\\~");
  EXPECT_EQ(Markdown("- not a list"), "\\- not a list");
  EXPECT_EQ(Markdown("two\nlines").find('\n'), std::string::npos);
  EXPECT_EQ(MarkdownCode("plain"), "`plain`");
  EXPECT_EQ(MarkdownCode("a`b``c"), "```a`b``c```");
  EXPECT_EQ(MarkdownCode("`x`"), "`` `x` ``");
  std::ostringstream table;
  WriteMarkdownTable({"a", ""}, "lr", {{MarkdownCode("a|b"), Markdown("c|d")}}, table);
  EXPECT_EQ(table.str(), "| a | |\n|---|---:|\n| `a\\|b` | c\\|d |\n");
  std::ostringstream odd;  // a backslash that is escaped itself escapes no bar
  WriteMarkdownTable({"a", "b"}, "ll", {{MarkdownCode("\\\\|"), MarkdownCode("\\|")}}, odd);
  EXPECT_EQ(odd.str(), "| a | b |\n|---|---|\n| `\\\\\\|` | `\\|` |\n");
  std::ostringstream out;
  WriteMarkdownCode("python", "x = 1\n```\n</pre>\n", out);
  EXPECT_EQ(out.str(), "````python\nx = 1\n```\n</pre>\n````\n");
}

// Every line of a table has as many columns as its head, whatever names stand in it.
TEST(Markdown, TablesHoldWithHostileNames) {
  std::ostringstream out;
  WriteMarkdown(DiagnosedReport(), out);
  std::istringstream lines(out.str());
  std::string line, text = out.str();
  std::size_t columns = 0;
  int tables = 0;
  while (std::getline(lines, line)) {
    std::size_t bars = 0;
    for (std::size_t i = 0; i < line.size(); ++i) {
      if (line[i] == '|' && (i == 0 || line[i - 1] != '\\')) ++bars;
    }
    if (line.empty() || line[0] != '|') {
      columns = 0;
    } else if (columns == 0) {
      columns = bars;
      ++tables;
    } else {
      EXPECT_EQ(bars, columns) << line;
    }
    EXPECT_LT(line.size(), 1000U);
  }
  EXPECT_EQ(tables, 2);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find('\x07'), std::string::npos);
  EXPECT_NE(text.find("> **trust partial**"), std::string::npos);
}

}  // namespace
}  // namespace hone::report
