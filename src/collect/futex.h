// SPDX-License-Identifier: Apache-2.0
// Sleeping until another thread of this process says so: futex(2), which takes no lock and needs
// nothing that a fork could leave half done.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <ctime>

namespace hone::collect {

// Returns when woken, after `nanos`, at a signal, or at once where `word` is not `value`.
inline void FutexWait(std::atomic<std::uint32_t>& word, std::uint32_t value,
                      std::uint64_t nanos) noexcept {
  const timespec limit = {static_cast<time_t>(nanos / 1'000'000'000),
                          static_cast<long>(nanos % 1'000'000'000)};
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAIT_PRIVATE, value, &limit,
          nullptr, 0);
}

// All that wait for `word`, which has been changed.
inline void FutexWake(std::atomic<std::uint32_t>& word) noexcept {
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAKE_PRIVATE, 1 << 30, nullptr,
          nullptr, 0);
}

}  // namespace hone::collect
