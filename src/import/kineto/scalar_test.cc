// SPDX-License-Identifier: Apache-2.0
#include "import/kineto/scalar.h"

#include <gtest/gtest.h>

namespace hone::importer::kineto {
namespace {

TEST(ParseMicros, KeepsEveryNanosecondOfEveryEra) {
  EXPECT_EQ(ParseMicros("1661203462598738"), 1661203462598738000);      // whole microseconds
  EXPECT_EQ(ParseMicros("1712195495519689.245"), 1712195495519689245);  // epoch with decimals
  EXPECT_EQ(ParseMicros("3847724019429.245"), 3847724019429245);        // relative
  EXPECT_EQ(ParseMicros("3847724020737.04"), 3847724020737040);         // short fraction
  EXPECT_EQ(ParseMicros("0.001"), 1);
  EXPECT_EQ(ParseMicros("-12.5"), -12500);
}

TEST(ParseMicros, RoundsBelowANanosecond) {
  EXPECT_EQ(ParseMicros("1.0004"), 1000);
  EXPECT_EQ(ParseMicros("1.0005"), 1001);
  EXPECT_EQ(ParseMicros("1.00049999"), 1000);
}

TEST(ParseMicros, ReadsExponents) {
  EXPECT_EQ(ParseMicros("1.5e3"), 1500000);
  EXPECT_EQ(ParseMicros("1e+16"), std::nullopt);  // does not fit
}

TEST(ParseMicros, RefusesWhatIsNoTime) {
  for (const char* text :
       {"", "-", ".", "abc", "NaN", "inf", "null", "99999999999999999999", "1.2.3"}) {
    EXPECT_EQ(ParseMicros(text), std::nullopt) << text;
  }
}

TEST(ParseId, TellsNumbersFromText) {
  EXPECT_EQ(ParseId("545 ").number, 545);
  EXPECT_EQ(ParseId("\"545\"").number, 545);
  EXPECT_EQ(ParseId("\"Spans\"").text, "Spans");
  EXPECT_TRUE(ParseId("\"\"").present());
  EXPECT_FALSE(ParseId("null").present());
}

TEST(ParseInteger, TakesHexAndWholeReals) {
  EXPECT_EQ(ParseInteger("0x10"), 16);
  EXPECT_EQ(ParseInteger("7.0"), 7);
  EXPECT_EQ(ParseInteger("1e30"), std::nullopt);
  EXPECT_EQ(ParseInteger("x"), std::nullopt);
}

TEST(ParseDouble, RefusesInfinity) {
  EXPECT_EQ(ParseDouble("inf"), std::nullopt);
  EXPECT_EQ(ParseDouble("NaN"), std::nullopt);
  EXPECT_DOUBLE_EQ(*ParseDouble(" 1.5 "), 1.5);
}

TEST(Unescape, UndoesEscapesAndKeepsBrokenOnes) {
  EXPECT_EQ(Unescape("a\\\"b"), "a\"b");
  EXPECT_EQ(Unescape("\\u00e9"), "\xC3\xA9");
  EXPECT_EQ(Unescape("C:\\Users"), "C:\\Users");  // not JSON: stays as it is
}

}  // namespace
}  // namespace hone::importer::kineto
