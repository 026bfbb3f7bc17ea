// SPDX-License-Identifier: Apache-2.0
#include "report/table.h"

#include <gtest/gtest.h>

#include <sstream>

#include "base/utf8.h"
#include "report/csv/csv_table.h"
#include "report/text/table_text.h"

namespace hone::report {
namespace {

Table Sample() {
  Table table("ops", "operators",
              {{"name", Unit::kText, 0},
               {"device_self_ms", Unit::kMillis, 0},
               {"share", Unit::kShare, 1},
               {"note", Unit::kText, 3}});
  table.Add({std::string_view("b"), std::int64_t{2'500'000}, 0.25, Cell()});
  table.Add(
      {std::string_view("a, \"x\""), std::int64_t{7'500'001}, 0.75, std::string_view("n\nm")});
  table.Add({std::string_view("c"), Cell(), Cell(), Cell()});
  return table;
}

std::string FirstName(const Table& table, std::size_t row) {
  return std::string(*table.rows[row][0].text());
}

TEST(Table, FindsColumnsByWordsInAnyOrder) {
  const Table table = Sample();
  for (const char* word :
       {"device_self_ms", "device_self", "self_device", "self-cuda", "Device Self"}) {
    const Result<std::size_t> column = FindColumn(table, word);
    ASSERT_TRUE(column.has_value()) << word;
    EXPECT_EQ(*column, 1U) << word;
  }
  const Result<std::size_t> none = FindColumn(table, "shrae");
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error().message(),
            "table ops has no column shrae, did you mean share?; its columns: name, "
            "device_self_ms, share, note");
  EXPECT_FALSE(FindColumn(table, "device").has_value());
}

TEST(Table, SortsNumbersDownTextsUpUnknownLast) {
  Table table = Sample();
  ASSERT_TRUE(Shape(table, {"self_device", false, {}}).has_value());
  EXPECT_EQ(FirstName(table, 0), "a, \"x\"");
  EXPECT_EQ(FirstName(table, 2), "c");
  ASSERT_TRUE(Shape(table, {"-self_device", false, {}}).has_value());
  EXPECT_EQ(FirstName(table, 0), "b");
  EXPECT_EQ(FirstName(table, 2), "c");
  ASSERT_TRUE(Shape(table, {"-self_device", true, {}}).has_value());
  EXPECT_EQ(FirstName(table, 0), "a, \"x\"");
  ASSERT_TRUE(Shape(table, {"name", true, 1}).has_value());
  EXPECT_EQ(FirstName(table, 0), "c");
  EXPECT_EQ(table.left_out, 2U);
}

TEST(CsvTable, QuotesAsRfc4180AndKeepsEveryDigit) {
  std::ostringstream out;
  WriteCsv(Sample(), out);
  EXPECT_EQ(out.str(),
            "name,device_self_ms,share,note\n"
            "b,2.500000,0.25,\n"
            "\"a, \"\"x\"\"\",7.500001,0.75,\"n\nm\"\n"
            "c,,,\n");
}

TEST(CsvTable, NoEscapeSequenceComesOut) {
  Table table("t", "t", {{"name", Unit::kText, 0}});
  table.Add({std::string_view("\x1b[31m\x9b\xff red")});
  std::ostringstream out;
  WriteCsv(table, out);
  EXPECT_EQ(out.str(), "name\n\xEF\xBF\xBD[31m\xEF\xBF\xBD\xEF\xBF\xBD red\n");
}

TEST(TableText, DropsColumnsByRankAndSaysSo) {
  std::ostringstream out;
  Style style;
  style.width = 40;
  Table table = Sample();
  const std::string long_note(100, 'n');
  table.rows[0][3] = std::string_view(long_note);
  table.rows[0][0] = std::string_view("a_very_long_operator_name_that_does_not_fit");
  WriteTable(table, style, {}, out);
  const std::string text = out.str();
  EXPECT_EQ(text.find("note  "), std::string::npos);
  EXPECT_NE(text.find("not shown: note"), std::string::npos) << text;
  EXPECT_NE(text.find("a_very_"), std::string::npos);
  EXPECT_NE(text.find("not_fit"), std::string::npos);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(DisplayWidth(line), 40U) << line;
  }
}

TEST(TableText, ColumnsWithoutAnyValueAreLeftOut) {
  Table table("t", "t", {{"name", Unit::kText, 0}, {"rank", Unit::kCount, 0}});
  table.Add({std::string_view("x"), Cell()});
  std::ostringstream out;
  WriteTable(table, Style(), {}, out);
  EXPECT_EQ(out.str(), "  name\n  x\n");
}

}  // namespace
}  // namespace hone::report
