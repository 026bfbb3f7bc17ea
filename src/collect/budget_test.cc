// SPDX-License-Identifier: Apache-2.0
#include "collect/budget.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/thread_log.h"

namespace hone::collect {
namespace {

constexpr std::size_t kBlock = 64u << 10;
std::size_t g_kept = 0;

std::size_t BlocksThatFit() {
  std::size_t blocks = 0;
  while (TakeMemory(kBlock, AfterFork::kDropped) != nullptr) ++blocks;
  return blocks;
}

// What `child` returns in a forked process, which then ends.
int InChild(int (*child)()) {
  const pid_t pid = fork();
  if (pid == 0) _exit(child());
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// All in processes of their own: the budget is that of the process, and these spend it.
TEST(Budget, AForkedChildHasAllButWhatItKeeps) {
  EXPECT_EQ(InChild([] {
              ForkedBudget();
              if (TakeMemory(kBlock, AfterFork::kKept) == nullptr) return 1;
              g_kept = MemoryTaken();
              if (BlocksThatFit() == 0) return 2;
              return InChild([] {
                if (BlocksThatFit() != 0) return 3;
                ForkedBudget();
                if (MemoryTaken() != g_kept) return 4;
                return BlocksThatFit() == (MemoryLimit() - g_kept) / kBlock ? 0 : 5;
              });
            }),
            0);
}

struct Row {
  std::uint64_t number;
};

TEST(Budget, AForkedChildRecordsWhereTheParentHadNothingLeft) {
  EXPECT_EQ(InChild([] {
              static ThreadLog<Row> log;
              auto* const chain = log.Claim(1);
              if (chain == nullptr) return 1;
              while (Row* const row = log.Place(chain, 1)) {
                row->number = 1;
                log.Commit(chain);
              }
              return InChild([] {
                ForkedBudget();
                log.Forked();
                auto* const own = log.Claim(2);
                if (own == nullptr || log.Place(own, 2) == nullptr) return 1;
                return log.TakeLost() == 0 ? 0 : 2;
              });
            }),
            0);
}

}  // namespace
}  // namespace hone::collect
