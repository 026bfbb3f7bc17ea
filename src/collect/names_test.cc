// SPDX-License-Identifier: Apache-2.0
#include "collect/names.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
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

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

constexpr std::string_view kWhole = "known when the child begins";
int g_steps = 0, g_wrong_children = 0;

// Another thread forks, while this one has come so far.
void ForkHere(int) {
  ++g_steps;
  const pid_t pid = fork();
  if (pid == 0) {
    ForkedNames();
    const std::uint32_t fresh = InternName("new in the child");
    const std::uint32_t known = InternName(kWhole);
    const bool right = fresh != known && NameText(fresh) == "new in the child" &&
                       NameText(known) == kWhole && NameCount() >= std::max(fresh, known);
    _exit(right ? 0 : 1);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  if (status != 0) ++g_wrong_children;
}

// The processor stops after each instruction in between.
void StepThrough(bool on) {
  if (on) {
    asm volatile(
        "lea -128(%%rsp), %%rsp; pushfq; orq $0x100, (%%rsp); popfq; lea 128(%%rsp), %%rsp" ::
            : "memory", "cc");
  } else {
    asm volatile(
        "lea -128(%%rsp), %%rsp; pushfq; andq $~0x100, (%%rsp); popfq; lea 128(%%rsp), %%rsp" ::
            : "memory", "cc");
  }
}

TEST(Names, AForkAtAnyInstructionLeavesTheChildNoTextWithAnothersId) {
  InternName("the arena is there");
  struct sigaction action = {}, before = {};
  action.sa_handler = ForkHere;
  ASSERT_EQ(sigaction(SIGTRAP, &action, &before), 0);
  StepThrough(true);
  InternName(kWhole);
  StepThrough(false);
  sigaction(SIGTRAP, &before, nullptr);
  EXPECT_GT(g_steps, 50);
  EXPECT_EQ(g_wrong_children, 0);
}

#endif

}  // namespace
}  // namespace hone::collect
