// SPDX-License-Identifier: Apache-2.0
#include "base/json_writer.h"

#include <gtest/gtest.h>
#include <simdjson.h>

#include <cmath>
#include <limits>
#include <sstream>

namespace hone {
namespace {

TEST(JsonWriter, WritesLinesAndInline) {
  std::ostringstream out;
  JsonWriter json(out);
  json.BeginObject();
  json.Field("a", 1);
  json.Key("b").BeginArray();
  json.BeginObject(JsonWriter::Layout::kInline);
  json.Field("c", true);
  json.Key("d").BeginArray();
  json.Null();
  json.String("x");
  json.EndArray();
  json.EndObject();
  json.EndArray();
  json.Key("e").BeginArray();
  json.EndArray();
  json.EndObject();
  json.Finish();
  EXPECT_EQ(out.str(),
            "{\n  \"a\": 1,\n  \"b\": [\n    {\"c\": true, \"d\": [null, \"x\"]}\n  ],\n"
            "  \"e\": []\n}\n");
}

TEST(JsonWriter, EscapesAndRepairs) {
  EXPECT_EQ(JsonQuoted("a\"b\\c\n\t\x01\x7f"), R"("a\"b\\c\n\t\u0001\u007f")");
  EXPECT_EQ(JsonQuoted("\xC3\xA9"), "\"\xC3\xA9\"");
  EXPECT_EQ(JsonQuoted("\xC2\x9B"), R"("\u009b")");  // C1: CSI
  EXPECT_EQ(JsonQuoted("a\xFF"
                       "b"),
            "\"a\xEF\xBF\xBD"
            "b\"");                                                   // no such byte
  EXPECT_EQ(JsonQuoted("\xE2\x82"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\"");  // cut off
  EXPECT_EQ(JsonQuoted("\xC0\xAF"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\"");  // overlong
  EXPECT_EQ(JsonQuoted("\xED\xA0\x80"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"");  // surrogate
  EXPECT_EQ(JsonQuoted(std::string_view("\0", 1)), R"("\u0000")");
}

TEST(JsonWriter, EveryByteStringIsValidJson) {
  simdjson::dom::parser parser;
  std::uint32_t state = 1;
  for (int round = 0; round < 500; ++round) {
    std::string bytes;
    for (int i = 0; i < 40; ++i) {
      state = state * 1664525 + 1013904223;
      bytes.push_back(static_cast<char>(state >> 24));
    }
    simdjson::dom::element element;
    const std::string document = "[" + JsonQuoted(bytes) + "]";
    ASSERT_EQ(parser.parse(document).get(element), simdjson::SUCCESS) << document;
  }
}

TEST(JsonWriter, InAPageNoStringEndsTheScript) {
  std::ostringstream out;
  JsonWriter json(out, JsonWriter::Escape::kHtml);
  json.BeginObject(JsonWriter::Layout::kInline);
  json.Field("</script>", "<!--<script>\xC3\xA9<");
  json.EndObject();
  EXPECT_EQ(out.str(), "{\"\\u003c/script>\": \"\\u003c!--\\u003cscript>\xC3\xA9\\u003c\"}");
  EXPECT_EQ(JsonQuoted("a<b"), "\"a<b\"");
}

TEST(JsonWriter, Numbers) {
  std::ostringstream out;
  JsonWriter json(out);
  json.BeginArray(JsonWriter::Layout::kInline);
  json.Double(0.1);
  json.Double(std::nan(""));
  json.Double(std::numeric_limits<double>::infinity());
  json.Double(1e300);
  json.Millis(1'234'567'890'123);
  json.Millis(-5);
  json.Micros(7);
  json.Int(std::numeric_limits<std::int64_t>::min());
  json.Uint(std::numeric_limits<std::uint64_t>::max());
  json.Millis(std::numeric_limits<std::int64_t>::min());
  json.EndArray();
  EXPECT_EQ(out.str(),
            "[0.1, null, null, 1e+300, 1234567.890123, -0.000005, 0.007, -9223372036854775808, "
            "18446744073709551615, -9223372036854.775808]");
}

}  // namespace
}  // namespace hone
