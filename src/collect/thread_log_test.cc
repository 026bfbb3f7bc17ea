// SPDX-License-Identifier: Apache-2.0
#include "collect/thread_log.h"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <thread>
#include <vector>

namespace hone::collect {
namespace {

struct Row {
  std::uint64_t number;
  std::uint64_t padding[7];
};

void Append(ThreadLog<Row>& log, ThreadLog<Row>::Chain* chain, std::uint32_t tid,
            std::uint64_t number) {
  if (Row* row = log.Place(chain, tid)) {
    row->number = number;
    log.Commit(chain);
  }
}

TEST(ThreadLog, WriterSeesEveryRowOnceAndInOrder) {
  ThreadLog<Row> log;
  constexpr std::uint32_t kThreads = 3;
  constexpr std::uint64_t kRows = 20'000;  // many blocks of a thousand
  std::atomic<std::uint32_t> running{kThreads};
  std::vector<std::thread> threads;
  for (std::uint32_t tid = 1; tid <= kThreads; ++tid) {
    threads.emplace_back([&log, &running, tid] {
      auto* const chain = log.Claim(tid);
      for (std::uint64_t i = 0; i < kRows; ++i) Append(log, chain, tid, i);
      log.Release(chain);
      --running;
    });
  }
  std::map<std::uint32_t, std::uint64_t> next;
  const auto take = [&](std::uint32_t tid, const Row& row) { EXPECT_EQ(row.number, next[tid]++); };
  while (running > 0) log.Drain(take);
  for (std::thread& thread : threads) thread.join();
  log.Drain(take);
  // What did not fit into the budget is counted, not forgotten.
  std::uint64_t seen = 0;
  for (const auto& [tid, count] : next) seen += count;
  EXPECT_EQ(seen + log.TakeLost(), kThreads * kRows);
}

TEST(ThreadLog, ADeadThreadsChainIsTakenOverWithoutMixingRows) {
  ThreadLog<Row> log;
  auto* const first = log.Claim(11);
  Append(log, first, 11, 1);
  log.Release(first);
  auto* const second = log.Claim(12);
  EXPECT_EQ(second, first);
  Append(log, second, 12, 2);
  std::map<std::uint32_t, std::uint64_t> rows;
  log.Drain([&](std::uint32_t tid, const Row& row) { rows[tid] = row.number; });
  EXPECT_EQ(rows, (std::map<std::uint32_t, std::uint64_t>{{11, 1}, {12, 2}}));
}

TEST(ThreadLog, DropsAndCountsWhenTheBudgetIsSpent) {
  ThreadLog<Row> log;
  auto* const chain = log.Claim(1);
  const std::uint64_t fits = MemoryLimit() / sizeof(Row);
  for (std::uint64_t i = 0; i < fits + 5000; ++i) Append(log, chain, 1, i);
  EXPECT_LE(MemoryTaken(), MemoryLimit());
  std::uint64_t seen = 0;
  log.Drain([&](std::uint32_t, const Row&) { ++seen; });
  const std::uint64_t lost = log.TakeLost();
  EXPECT_GT(lost, 0u);
  EXPECT_EQ(seen + lost, fits + 5000);
  Append(log, chain, 1, 7);  // drained blocks are used again
  EXPECT_EQ(log.TakeLost(), 0u);
}

}  // namespace
}  // namespace hone::collect
