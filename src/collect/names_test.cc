// SPDX-License-Identifier: Apache-2.0
#include "collect/names.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace hone::collect {
namespace {

TEST(Names, OneIdForOneText) {
  const std::uint32_t mm = InternName("aten::mm");
  EXPECT_EQ(InternName(std::string("aten::") + "mm"), mm);
  EXPECT_NE(InternName("aten::mul"), mm);
  EXPECT_EQ(NameText(mm), "aten::mm");
  EXPECT_EQ(NameText(kUnnamed), "");
}

TEST(Names, AnAddressUsedAgainForAnotherTextIsSeen) {
  char text[16] = "first";
  const std::uint32_t first = InternNameAt(text);
  EXPECT_EQ(InternNameAt(text), first);
  std::snprintf(text, sizeof(text), "second");
  const std::uint32_t second = InternNameAt(text);
  EXPECT_NE(second, first);
  EXPECT_EQ(NameText(second), "second");
}

TEST(Names, ZerosInsideAndLongTexts) {
  const std::string zeros("a\0b", 3);
  EXPECT_EQ(NameText(InternName(zeros)), zeros);
  const std::string lengthy(10'000, 'x');
  EXPECT_EQ(NameText(InternName(lengthy)).size(), 4096u);
}

TEST(Names, ManyThreadsAgree) {
  constexpr int kThreads = 4, kTexts = 2000;
  std::vector<std::vector<std::uint32_t>> ids(kThreads, std::vector<std::uint32_t>(kTexts));
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&ids, t] {
      for (int i = 0; i < kTexts; ++i) {
        const int text = (i * 7 + t * 131) % kTexts;  // each in an order of its own
        ids[t][text] = InternName("shared " + std::to_string(text));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int i = 0; i < kTexts; ++i) {
    for (int t = 1; t < kThreads; ++t) EXPECT_EQ(ids[t][i], ids[0][i]);
    EXPECT_EQ(NameText(ids[0][i]), "shared " + std::to_string(i));
  }
  EXPECT_EQ(NamesLost(), 0u);
}

}  // namespace
}  // namespace hone::collect
