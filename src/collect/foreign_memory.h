// SPDX-License-Identifier: Apache-2.0
// Reads of memory that may be gone by now: what other threads' interpreters stand on. The kernel
// does the copy, so an address that is no longer mapped is an answer and not a crash.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace hone::collect {

struct ForeignPiece {
  std::uintptr_t from;
  void* to;
  std::size_t bytes;
};

// Whether the kernel lets this process read itself: by process_vm_readv, else through
// /proc/self/mem. Looks once a process; cheap afterwards.
bool ForeignMemoryWorks() noexcept;

// All of the piece, or false. About 0.4 us.
bool ReadForeign(std::uintptr_t from, void* to, std::size_t bytes) noexcept;

// As many bytes as there are up to the next page that is not there.
std::size_t ReadForeignUpTo(std::uintptr_t from, void* to, std::size_t bytes) noexcept;

// Many small pieces by one call of the kernel. The number of pieces read whole, from the front;
// what stands behind the first that could not be read is undefined.
std::size_t ReadForeignPieces(std::span<const ForeignPiece> pieces) noexcept;

template <typename Value>
bool ReadForeignValue(std::uintptr_t from, Value* value) noexcept {
  return ReadForeign(from, value, sizeof(Value));
}

// In the child of a fork.
void ForeignMemoryForked() noexcept;

}  // namespace hone::collect
