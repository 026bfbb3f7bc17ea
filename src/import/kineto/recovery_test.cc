// SPDX-License-Identifier: Apache-2.0
#include "import/kineto/recovery.h"

#include <gtest/gtest.h>

namespace hone::importer::kineto {
namespace {

TEST(RepairJson, EscapesStrayQuotes) {
  EXPECT_EQ(RepairJson(R"({"name": "a "b" c", "pid": 1})"), R"({"name": "a \"b\" c", "pid": 1})");
}

TEST(RepairJson, EscapesStrayBackslashes) {
  EXPECT_EQ(RepairJson(R"({"name": "C:\Work\x"})"), R"({"name": "C:\\Work\\x"})");
  EXPECT_EQ(RepairJson(R"({"name": "fine \n \u0041"})"), R"({"name": "fine \n \u0041"})");
}

TEST(RepairJson, DropsTrailingCommas) {
  EXPECT_EQ(RepairJson(R"({"a": [1, 2, ], "b": 1, })"), R"({"a": [1, 2 ], "b": 1 })");
}

TEST(RepairJson, ReplacesBytesThatAreNotText) {
  EXPECT_EQ(RepairJson("{\"n\": \"a\nb\x01\"}"), "{\"n\": \"a b \"}");
  EXPECT_EQ(RepairJson("{\"n\": \"\xFF\xC3\xA9\"}"), "{\"n\": \"\xEF\xBF\xBD\xC3\xA9\"}");
}

TEST(RepairJson, LeavesGoodTextAlone) {
  const std::string good = R"({"name": "x, \"y\": {z}", "args": {"grid": [1, 2, 3], "s": ""}})";
  EXPECT_EQ(RepairJson(good), good);
}

TEST(BracketEnd, LooksPastStrings) {
  EXPECT_EQ(BracketEnd(R"({"a": "}]\"}"} tail)", 0), 14U);
  EXPECT_EQ(BracketEnd(R"({"a": [1, {)", 0), std::string_view::npos);
}

}  // namespace
}  // namespace hone::importer::kineto
