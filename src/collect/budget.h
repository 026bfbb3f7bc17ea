// SPDX-License-Identifier: Apache-2.0
// Budget: the memory the recorder may take in this process (HONE_MEMORY_BYTES, 64 MiB unless said),
// shared by all sources. Blocks come from mmap, never from the program's allocator, which may be
// the thing being recorded, may be preloaded, or may hold its lock while we are called.
//
// A forked child has the whole amount for itself but what it goes on using: the rest of the
// parent's blocks is only mapped there, shared with the parent as long as neither writes to it.
#pragma once

#include <cstddef>

namespace hone::collect {

// Whether the child of a fork uses a block on, or drops it with what else was the parent's.
enum class AfterFork : bool { kDropped, kKept };

// Zeroed memory, page-aligned, or null when the budget is spent. Any thread; a system call.
void* TakeMemory(std::size_t bytes, AfterFork after_fork) noexcept;
// What was taken by this process as kDropped.
void GiveBack(void* memory, std::size_t bytes) noexcept;
std::size_t MemoryTaken() noexcept;
std::size_t MemoryLimit() noexcept;

// In the child of a fork: only what is kept counts.
void ForkedBudget() noexcept;

}  // namespace hone::collect
