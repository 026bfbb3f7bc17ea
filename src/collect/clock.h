// SPDX-License-Identifier: Apache-2.0
// The recorder's clock: the processor's own counter where it is steady (12 ns a read against 31 for
// clock_gettime), else CLOCK_MONOTONIC. Everything in a file is told by this one clock, CUPTI's
// records too; anchors in the file tie it to wall time.
#pragma once

#include <cstdint>
#include <ctime>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace hone::collect {

extern bool g_counter_is_steady;  // set by PrepareClock, before the first Ticks()

// Whether the counter can be used: invariant, and the kernel's own clock source.
void PrepareClock() noexcept;

inline std::uint64_t MonotonicNanos() noexcept {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(now.tv_nsec);
}

inline std::uint64_t Ticks() noexcept {
#if defined(__x86_64__)
  if (__builtin_expect(g_counter_is_steady, 1)) return __rdtsc();
#endif
  return MonotonicNanos();
}

struct ClockAnchor {
  std::uint64_t ticks, monotonic_ns, realtime_ns;
};
// The best of several brackets: ticks and both clocks within a microsecond of each other.
ClockAnchor TakeAnchor() noexcept;

// Ticks in this many nanoseconds, roughly (measured at PrepareClock and refined by time).
std::uint64_t TicksIn(std::uint64_t nanos) noexcept;

}  // namespace hone::collect
