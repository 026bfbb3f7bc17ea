// SPDX-License-Identifier: Apache-2.0
#include "import/kineto/window_reader.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace hone::importer::kineto {
namespace {

std::vector<std::string> Cut(const std::string& text, std::size_t window_bytes) {
  const auto source = MemoryByteSource(text);
  WindowReader reader(*source, window_bytes);
  std::vector<std::string> documents;
  while (const Window* window = reader.Next()) documents.emplace_back(window->document);
  EXPECT_EQ(reader.raw_bytes(), text.size());
  return documents;
}

const char kEvent[] = R"({"ph": "X", "name": "abcdefgh"})";

TEST(WindowReader, SmallFileIsOneWindow) {
  const std::string text = std::string("{\"traceEvents\": [") + kEvent + "]}";
  EXPECT_EQ(Cut(text, 4096), std::vector<std::string>{text});
}

TEST(WindowReader, EveryWindowIsADocumentAndNothingIsLost) {
  std::string text =
      R"({"deviceProperties": [{"id": 0, "name": "x"}, {"name": "y"}], "traceEvents": [)";
  for (int i = 0; i < 100; ++i) text += std::string(i == 0 ? "" : ",\n ") + kEvent;
  text += "], \"traceName\": \"z\"}";
  const std::vector<std::string> documents = Cut(text, 256);
  ASSERT_GT(documents.size(), 5U);
  std::size_t events = 0;
  for (const std::string& document : documents) {
    EXPECT_EQ(document.front(), '{');
    EXPECT_EQ(document.back(), '}');
    for (std::size_t at = document.find("\"ph\""); at != std::string::npos;
         at = document.find("\"ph\"", at + 1))
      ++events;
  }
  EXPECT_EQ(events, 100U);
  EXPECT_NE(documents.front().find("deviceProperties"), std::string::npos);
  EXPECT_NE(documents.back().find("traceName"), std::string::npos);
}

TEST(WindowReader, ArrayFormIsCutWithBrackets) {
  std::string text = "[";
  for (int i = 0; i < 50; ++i) text += std::string(i == 0 ? "" : ",") + kEvent;
  text += "]";
  for (const std::string& document : Cut(text, 200)) {
    EXPECT_EQ(document.front(), '[');
    EXPECT_EQ(document.back(), ']');
  }
}

TEST(WindowReader, AnEventLargerThanTheWindowGrowsIt) {
  const std::string text = "{\"traceEvents\": [{\"ph\": \"X\", \"name\": \"" +
                           std::string(5000, 'n') + "\"}, " + kEvent + "]}";
  std::string joined;
  for (const std::string& document : Cut(text, 128)) joined += document;
  EXPECT_NE(joined.find(std::string(5000, 'n')), std::string::npos);
}

TEST(WindowReader, EmptyInputIsOneEmptyWindow) {
  EXPECT_EQ(Cut("", 128), std::vector<std::string>{""});
}

TEST(WindowReader, CanBeDroppedBeforeTheEnd) {
  std::string text = "[";
  for (int i = 0; i < 10000; ++i) text += std::string(i == 0 ? "" : ",") + kEvent;
  const auto source = MemoryByteSource(text);
  WindowReader reader(*source, 256);
  EXPECT_NE(reader.Next(), nullptr);
}

}  // namespace
}  // namespace hone::importer::kineto
