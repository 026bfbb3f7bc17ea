// SPDX-License-Identifier: Apache-2.0
#include "collect/fork_section.h"

#include <pthread.h>

#include <atomic>

#include "collect/clock.h"
#include "collect/futex.h"

namespace hone::collect {
namespace {

enum Inside : std::uint32_t { kNobody, kSomebody, kSomebodyAwaited };

std::atomic<std::uint32_t> g_inside{kNobody};
// Of this thread: how deep it is in, and whether it went in by itself or was let through.
thread_local std::uint32_t t_depth = 0;
thread_local bool t_holds = false;

void Enter() noexcept {
  if (t_depth++ > 0) return;
  std::uint32_t seen = kNobody;
  t_holds = g_inside.compare_exchange_strong(seen, kSomebody, std::memory_order_acquire);
  if (t_holds) return;
  const std::uint64_t deadline = MonotonicNanos() + kForkPatienceNs;
  while (!(t_holds = g_inside.exchange(kSomebodyAwaited, std::memory_order_acquire) == kNobody)) {
    const std::uint64_t now = MonotonicNanos();
    if (now >= deadline) return;
    FutexWait(g_inside, kSomebodyAwaited, deadline - now);
  }
}

void Leave() noexcept {
  if (--t_depth > 0 || !t_holds) return;
  t_holds = false;
  if (g_inside.exchange(kNobody, std::memory_order_release) == kSomebodyAwaited) {
    FutexWake(g_inside);
  }
}

// Whoever else was inside, or waited, does not exist here. A section that this thread was in when a
// signal handler of its own forked goes on when that returns.
void LeaveInChild() noexcept {
  g_inside.store(t_holds ? kSomebody : kNobody, std::memory_order_relaxed);
  Leave();
}

}  // namespace

ForkSection::ForkSection() noexcept { Enter(); }
ForkSection::~ForkSection() { Leave(); }

void HoldForks() noexcept {
  static std::atomic<bool> done{false};  // the child of a fork has the handlers as well
  if (!done.exchange(true)) pthread_atfork(Enter, Leave, LeaveInChild);
}

}  // namespace hone::collect
