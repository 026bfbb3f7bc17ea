// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/utf8.h"

namespace hone {
namespace {

TEST(Text, Thousands) {
  EXPECT_EQ(WithThousands(std::int64_t{0}), "0");
  EXPECT_EQ(WithThousands(std::int64_t{999}), "999");
  EXPECT_EQ(WithThousands(std::int64_t{1000}), "1,000");
  EXPECT_EQ(WithThousands(std::int64_t{-1234567}), "-1,234,567");
  EXPECT_EQ(WithThousands(std::int64_t{-123}), "-123");
  EXPECT_EQ(Fixed(1234.56, 1), "1,234.6");
  EXPECT_EQ(Fixed(-0.01, 1), "0.0");
  EXPECT_EQ(Fixed(std::nan(""), 1), "?");
}

TEST(Text, Durations) {
  EXPECT_EQ(HumanDuration(0), "0 ns");
  EXPECT_EQ(HumanDuration(850), "850 ns");
  EXPECT_EQ(HumanDuration(12'340), "12.3 us");
  EXPECT_EQ(HumanDuration(999'400), "999 us");
  EXPECT_EQ(HumanDuration(999'600), "1.00 ms");
  EXPECT_EQ(HumanDuration(196'100'000), "196 ms");
  EXPECT_EQ(HumanDuration(4'210'000'000), "4.21 s");
  EXPECT_EQ(HumanDuration(125 * kSecond), "2 min 05 s");
  EXPECT_EQ(HumanDuration(2 * 3600 * kSecond + 60 * kSecond), "2 h 01 min");
  EXPECT_EQ(HumanDuration(-12'340), "-12.3 us");
  EXPECT_FALSE(HumanDuration(std::numeric_limits<Nanos>::min()).empty());
}

TEST(Text, BytesAndShares) {
  EXPECT_EQ(HumanBytes(512), "512 B");
  EXPECT_EQ(HumanBytes(1536), "1.50 KiB");
  EXPECT_EQ(HumanBytes(5.6 * 1024 * 1024 * 1024), "5.60 GiB");
  EXPECT_EQ(HumanBytes(1000), "0.977 KiB");
  EXPECT_EQ(Percent(0.487), "48.7 %");
  EXPECT_EQ(Percent(0.0001), "<0.1 %");
  EXPECT_EQ(Percent(0), "0 %");
  EXPECT_EQ(Percent(1), "100 %");
  EXPECT_EQ(Percent(0.9994), "99.9 %");
  EXPECT_EQ(Count(1, "step"), "1 step");
  EXPECT_EQ(Count(2104, "launch", "launches"), "2,104 launches");
}

TEST(Text, ExactDecimals) {
  EXPECT_EQ(ExactDecimal(1'234'567, 6), "1.234567");
  EXPECT_EQ(ExactDecimal(-1, 3), "-0.001");
  EXPECT_EQ(ExactDecimal(42, 0), "42");
}

TEST(Text, NearestSpelling) {
  const std::vector<std::string> words = {"--json", "--csv", "--table", "--limit"};
  EXPECT_EQ(NearestSpelling("--jsno", words), "--json");
  EXPECT_EQ(NearestSpelling("--tabel", words), "--table");
  EXPECT_EQ(NearestSpelling("--frobnicate", words), std::nullopt);
  EXPECT_EQ(NearestSpelling(std::string(100000, 'x'), words), std::nullopt);
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3U);
  EXPECT_EQ(EditDistance("ab", "ba"), 1U);
  EXPECT_EQ(EditDistance("", "abc"), 3U);
}

TEST(Text, WrapsAtBlanks) {
  EXPECT_EQ(WrapWords("one two three", 7), (std::vector<std::string>{"one two", "three"}));
  EXPECT_EQ(WrapWords("takes 9.00 ms", 10), (std::vector<std::string>{"takes", "9.00 ms"}));
  EXPECT_EQ(WrapWords("", 7), std::vector<std::string>{""});
  EXPECT_EQ(WrapWords("a waytoolongword b", 5),
            (std::vector<std::string>{"a", "waytoolongword", "b"}));
}

TEST(Utf8, WidthPadElide) {
  EXPECT_EQ(DisplayWidth("abc"), 3U);
  EXPECT_EQ(DisplayWidth("é"), 1U);
  EXPECT_EQ(DisplayWidth("e\xCC\x81"), 1U);  // e + combining acute
  EXPECT_EQ(DisplayWidth("日本"), 4U);
  EXPECT_EQ(PadRight("日", 4), "日  ");
  EXPECT_EQ(PadLeft("é", 3), "  é");
  EXPECT_EQ(ElideMiddle("abcdefghij", 7, true), "abc…hij");
  EXPECT_EQ(ElideMiddle("abcdefghij", 9, false), "abc...hij");
  EXPECT_EQ(ElideMiddle("abc", 3, true), "abc");
  EXPECT_EQ(ElideMiddle("abcdef", 1, true), "a");
  EXPECT_EQ(ElideMiddle("abcdef", 0, true), "");
  EXPECT_EQ(ElideStart("/a/b/train.py", 9, true), "…train.py");
  for (std::size_t width = 0; width < 12; ++width) {
    EXPECT_LE(DisplayWidth(ElideMiddle("日本語のカーネル名", width, true)), width);
    EXPECT_LE(DisplayWidth(ElideMiddle("日本語のカーネル名", width, false)), width);
  }
}

TEST(Utf8, PrintableLetsNothingThrough) {
  EXPECT_EQ(Printable("a\x1b[31mb\x07", false), "a?[31mb?");
  EXPECT_EQ(Printable("a\x1b[31mb", true), "a\xEF\xBF\xBD[31mb");
  EXPECT_EQ(Printable("a\n\tb", true), "a b");
  EXPECT_EQ(Printable("\xC2\x9B"
                      "31m",
                      true),
            "\xEF\xBF\xBD"
            "31m");  // C1 CSI
  EXPECT_EQ(Printable("\xE2\x80\xAE"
                      "x",
                      true),
            "\xEF\xBF\xBD"
            "x");  // right-to-left override
  EXPECT_EQ(Printable("\xFF", true), "\xEF\xBF\xBD");
  EXPECT_EQ(Printable("é", false), "?");
  EXPECT_EQ(Printable("é", true), "é");
}

}  // namespace
}  // namespace hone
