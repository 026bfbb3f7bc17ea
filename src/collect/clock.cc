// SPDX-License-Identifier: Apache-2.0
#include "collect/clock.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace hone::collect {

bool g_counter_is_steady = false;

namespace {

ClockAnchor g_first;  // taken by PrepareClock

// The kernel tests the counter all the time (against other clocks, across cores) and drops it as
// its clock source when it fails; its word is worth more than the processor's flag alone.
bool KernelTrustsCounter() {
  const int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource",
                      O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  char text[16] = {};
  const ssize_t size = read(fd, text, sizeof(text) - 1);
  close(fd);
  return size >= 3 && std::memcmp(text, "tsc", 3) == 0;
}

bool CounterIsInvariant() {
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d & (1u << 8)) != 0;
#else
  return false;
#endif
}

std::uint64_t RealtimeNanos() {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace

void PrepareClock() noexcept {
  if (g_first.monotonic_ns != 0) return;
  g_counter_is_steady = CounterIsInvariant() && KernelTrustsCounter();
  g_first = TakeAnchor();
}

ClockAnchor TakeAnchor() noexcept {
  constexpr int kTries = 8;  // a bracket is about 80 ns when nothing comes between
  ClockAnchor best{};
  std::uint64_t tightest = UINT64_MAX;
  for (int i = 0; i < kTries; ++i) {
    const std::uint64_t before = Ticks();
    const std::uint64_t monotonic = MonotonicNanos();
    const std::uint64_t realtime = RealtimeNanos();
    const std::uint64_t after = Ticks();
    if (after - before >= tightest) continue;
    tightest = after - before;
    best = {before + (after - before) / 2, monotonic, realtime};
  }
  return best;
}

std::uint64_t TicksIn(std::uint64_t nanos) noexcept {
  if (!g_counter_is_steady) return nanos;
  const std::uint64_t ticks = Ticks() - g_first.ticks;
  const std::uint64_t elapsed = MonotonicNanos() - g_first.monotonic_ns;
  // In the first instants the ratio is not known; counters run at 1 to 4 GHz.
  const double rate =
      elapsed > 1000 ? static_cast<double>(ticks) / static_cast<double>(elapsed) : 2;
  return static_cast<std::uint64_t>(static_cast<double>(nanos) * rate);
}

}  // namespace hone::collect
