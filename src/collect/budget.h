// SPDX-License-Identifier: Apache-2.0
// Budget: the memory the recorder may take in this process (HONE_MEMORY_BYTES, 64 MiB unless said),
// shared by all sources. Blocks come from mmap, never from the program's allocator, which may be
// the thing being recorded, may be preloaded, or may hold its lock while we are called.
#pragma once

#include <cstddef>

namespace hone::collect {

// Zeroed memory, page-aligned, or null when the budget is spent. Any thread; a system call.
void* TakeMemory(std::size_t bytes) noexcept;
void GiveBack(void* memory, std::size_t bytes) noexcept;
std::size_t MemoryTaken() noexcept;
std::size_t MemoryLimit() noexcept;

}  // namespace hone::collect
