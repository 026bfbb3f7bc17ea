// SPDX-License-Identifier: Apache-2.0
#include "collect/budget.h"

#include <sys/mman.h>

#include <atomic>

#include "collect/options.h"

namespace hone::collect {
namespace {

std::atomic<std::size_t> g_taken{0};
std::atomic<std::size_t> g_kept{0};  // of these, what a forked child uses on

}  // namespace

void* TakeMemory(std::size_t bytes, AfterFork after_fork) noexcept {
  if (g_taken.fetch_add(bytes, std::memory_order_relaxed) + bytes > MemoryLimit()) {
    g_taken.fetch_sub(bytes, std::memory_order_relaxed);
    return nullptr;
  }
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory != MAP_FAILED) {
    if (after_fork == AfterFork::kKept) g_kept.fetch_add(bytes, std::memory_order_relaxed);
    return memory;
  }
  g_taken.fetch_sub(bytes, std::memory_order_relaxed);
  return nullptr;
}

void GiveBack(void* memory, std::size_t bytes) noexcept {
  if (memory == nullptr) return;
  munmap(memory, bytes);
  g_taken.fetch_sub(bytes, std::memory_order_relaxed);
}

std::size_t MemoryTaken() noexcept { return g_taken.load(std::memory_order_relaxed); }
std::size_t MemoryLimit() noexcept { return GetOptions().memory_bytes; }

void ForkedBudget() noexcept {
  g_taken.store(g_kept.load(std::memory_order_relaxed), std::memory_order_relaxed);
}

}  // namespace hone::collect
