// SPDX-License-Identifier: Apache-2.0
// SpinLock: for sections of a few dozen instructions that are entered rarely. Holds no memory and
// can be reset in the child of a fork, where its holder does not exist any more.
#pragma once

#include <sched.h>

#include <atomic>

namespace hone::collect {

class SpinLock {
 public:
  void lock() noexcept {
    while (held_.exchange(true, std::memory_order_acquire)) sched_yield();
  }
  void unlock() noexcept { held_.store(false, std::memory_order_release); }
  bool Held() const noexcept { return held_.load(std::memory_order_relaxed); }
  void Reset() noexcept { held_.store(false, std::memory_order_relaxed); }

 private:
  std::atomic<bool> held_{false};
};

}  // namespace hone::collect
