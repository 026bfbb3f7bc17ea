// SPDX-License-Identifier: Apache-2.0
// ThreadLog<Record>: rows that the program's threads write and the writer thread takes away.
//
// Each thread owns a chain of blocks; only it appends, only the writer drains, so an append is a
// store and a release of the count: no lock, no allocation (but of a block, every few thousand
// records). When the budget is spent the record is dropped and counted. Logs outlive their threads:
// a dead thread's log is drained and used again by the next new thread.
#pragma once

#include <atomic>
#include <cstdint>

namespace hone::collect {

inline constexpr std::size_t kBlockBytes = 64u << 10;

struct LogBlock {
  std::atomic<LogBlock*> next;
  std::atomic<std::uint32_t> used;  // records, released by the owner
  std::uint32_t taken;              // records, the writer's
  // records follow
};

// One thread's chain, for any record type.
struct Log {
  Log* next_log;                   // of all logs of this kind; never unlinked
  std::atomic<std::uint32_t> tid;  // 0: free for a new thread
  std::uint32_t record_bytes;
  LogBlock* head;  // the writer's
  LogBlock* tail;  // the owner's
  std::atomic<std::uint64_t> lost;
  std::uint64_t lost_told;  // the writer's
};

}  // namespace hone::collect
