// SPDX-License-Identifier: Apache-2.0
// ThreadLog: records of one type that the program's threads write and the writer thread takes away.
//
// Each thread owns a chain of blocks; only it appends, only the writer takes, so an append is a few
// stores and a release of the count: no lock, no allocation (a block every thousand records or so).
// When the budget is spent the record is dropped and counted. Chains outlive their threads: that of
// a dead thread is taken by the next new one, which starts a block of its own.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "collect/budget.h"
#include "collect/spin_lock.h"

namespace hone::collect {

template <typename Record>
class ThreadLog {
  static_assert(std::is_trivially_copyable_v<Record>);

 public:
  class Chain;

  // The chain of the calling thread, to be kept by it; null when there is no memory for one.
  Chain* Claim(std::uint32_t tid) noexcept;
  // The calling thread ends.
  void Release(Chain* chain) noexcept {
    if (chain != nullptr) chain->owner.store(0, std::memory_order_release);
  }

  // A place for one record, or null (counted). Fill it, then Commit.
  Record* Place(Chain* chain, std::uint32_t tid) noexcept {
    Block* block = chain != nullptr ? chain->tail : nullptr;
    if (block != nullptr && block->tid == tid) {
      const std::uint32_t used = block->used.load(std::memory_order_relaxed);
      if (used < kRecords) return &block->records[used];
    }
    block = chain != nullptr ? TakeBlock() : nullptr;
    if (block == nullptr) {
      lost_.fetch_add(1, std::memory_order_relaxed);
      return nullptr;
    }
    block->tid = tid;
    Block* const before = chain->tail;
    chain->tail = block;
    if (before == nullptr) {
      chain->head.store(block, std::memory_order_release);
    } else {
      before->next.store(block, std::memory_order_release);
    }
    return &block->records[0];
  }
  void Commit(Chain* chain) noexcept {
    std::atomic<std::uint32_t>& used = chain->tail->used;
    used.store(used.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }

  // Writer only: calls take(tid, record) for every record that is complete, oldest first.
  template <typename Take>
  void Drain(const Take& take) noexcept {
    for (Chain* chain = chains_.load(std::memory_order_acquire); chain; chain = chain->next) {
      Block* block = chain->head.load(std::memory_order_acquire);
      while (block != nullptr) {
        // The next block first: once it is there, this one's count is final.
        Block* const next = block->next.load(std::memory_order_acquire);
        const std::uint32_t used = block->used.load(std::memory_order_acquire);
        for (; block->taken < used; ++block->taken) take(block->tid, block->records[block->taken]);
        if (next == nullptr) break;
        chain->head.store(next, std::memory_order_relaxed);
        ReturnBlock(block);
        block = next;
      }
    }
  }

  // Writer only: records dropped since the last call.
  std::uint64_t TakeLost() noexcept { return lost_.exchange(0, std::memory_order_relaxed); }

  // In the child of a fork: what was the parent's is forgotten (its pages go with the exec or end).
  void Forked() noexcept {
    chains_.store(nullptr, std::memory_order_relaxed);
    free_ = nullptr;
    lost_.store(0, std::memory_order_relaxed);
    lock_.Reset();
  }

 private:
  static constexpr std::size_t kBlockBytes = 64u << 10;
  static constexpr std::uint32_t kRecords = (kBlockBytes - 64) / sizeof(Record);
  struct Block {
    std::atomic<Block*> next;         // by the owner, once this one is full
    std::atomic<std::uint32_t> used;  // by the owner
    std::uint32_t taken;              // by the writer
    std::uint32_t tid;
    alignas(64) Record records[kRecords];
  };
  static_assert(sizeof(Block) <= kBlockBytes);

  Block* TakeBlock() noexcept {
    lock_.lock();
    Block* block = free_;
    if (block != nullptr) free_ = block->next.load(std::memory_order_relaxed);
    lock_.unlock();
    if (block == nullptr) return static_cast<Block*>(TakeMemory(kBlockBytes, AfterFork::kDropped));
    block->next.store(nullptr, std::memory_order_relaxed);
    block->used.store(0, std::memory_order_relaxed);
    block->taken = 0;
    return block;
  }
  void ReturnBlock(Block* block) noexcept {
    lock_.lock();
    block->next.store(free_, std::memory_order_relaxed);
    free_ = block;
    lock_.unlock();
  }

  std::atomic<Chain*> chains_{nullptr};
  std::atomic<std::uint64_t> lost_{0};
  SpinLock lock_;  // of the free blocks
  Block* free_ = nullptr;
};

template <typename Record>
class ThreadLog<Record>::Chain {
 private:
  friend class ThreadLog<Record>;
  Chain* next;                       // never unlinked
  std::atomic<std::uint32_t> owner;  // tid; 0: free for a new thread
  std::atomic<Block*> head;          // the writer's, once set
  Block* tail;                       // the owner's
};

template <typename Record>
typename ThreadLog<Record>::Chain* ThreadLog<Record>::Claim(std::uint32_t tid) noexcept {
  for (Chain* chain = chains_.load(std::memory_order_acquire); chain; chain = chain->next) {
    std::uint32_t nobody = 0;
    if (chain->owner.compare_exchange_strong(nobody, tid, std::memory_order_acquire)) return chain;
  }
  constexpr std::size_t kPage = 4096;
  Chain* chain = static_cast<Chain*>(TakeMemory(kPage, AfterFork::kDropped));
  if (chain == nullptr) return nullptr;
  chain->owner.store(tid, std::memory_order_relaxed);
  chain->next = chains_.load(std::memory_order_relaxed);
  while (!chains_.compare_exchange_weak(chain->next, chain, std::memory_order_release)) {
  }
  return chain;
}

}  // namespace hone::collect
