// SPDX-License-Identifier: Apache-2.0
#include "collect/cuda_sites.h"

#include <algorithm>
#include <atomic>

#include "collect/budget.h"
#include "collect/clock.h"
#include "collect/python_frames.h"
#include "collect/source.h"
#include "collect/thread_log.h"
#include "collect/thread_state.h"

namespace hone::collect {
namespace {

struct Noted {
  std::uint64_t time;
  std::uint32_t frame;
};
ThreadLog<Noted> g_noted;

// A wait shorter than a launch takes (2 to 5 us on the host) is nobody's finding.
constexpr std::uint64_t kLeastNanos = 5'000;
std::atomic<std::uint64_t> g_least_ticks{10'000};  // of a counter of 2 GHz, until the writer knows

// Gives its chain back when the thread ends.
struct Mine {
  ThreadLog<Noted>::Chain* chain = nullptr;
  std::uint64_t last = 0;
  ~Mine() { g_noted.Release(chain); }
};
thread_local Mine t_mine;

}  // namespace

std::uint64_t ClockWithSites() noexcept {
  const std::uint64_t now = Ticks();
  ThreadState* const state = t_state;
  // Inside an operator its line is the call's; threads that never ran one may still run Python.
  if (state != nullptr && (state->op_depth != 0 || state->busy)) return now;
  if (!PythonKnown() || !Recording()) return now;
  Mine& mine = t_mine;
  const std::uint64_t passed = now - mine.last;
  mine.last = now;
  if (passed < g_least_ticks.load(std::memory_order_relaxed)) return now;
  const Guest guest(GetThreadState());
  if (!guest) return now;
  const std::uint32_t frame = FrameHere();
  if (frame == 0) return now;  // CUPTI's own threads, and those without Python
  if (mine.chain == nullptr) mine.chain = g_noted.Claim(t_state->tid);
  if (Noted* const noted = g_noted.Place(mine.chain, t_state->tid)) {
    *noted = {now, frame};
    g_noted.Commit(mine.chain);
  }
  return now;
}

std::uint32_t CudaSites::SetOf(std::uint64_t time) noexcept {
  return static_cast<std::uint32_t>(time * 0x9E3779B97F4A7C15ULL >> 52) % kSets * kWays;
}

void CudaSites::Drain() noexcept {
  g_least_ticks.store(TicksIn(kLeastNanos), std::memory_order_relaxed);
  g_noted.Drain([this](std::uint32_t tid, const Noted& noted) {
    if (slots_ == nullptr) {
      slots_ = static_cast<Site*>(TakeMemory(kSets * kWays * sizeof(Site), AfterFork::kKept));
      if (slots_ == nullptr) return;
    }
    Site* const set = slots_ + SetOf(noted.time);
    Site* const oldest = std::min_element(
        set, set + kWays, [](const Site& a, const Site& b) { return a.time < b.time; });
    *oldest = {noted.time, tid, noted.frame};
  });
  g_noted.TakeLost();  // a line that is missing is said where it is missing
}

std::uint32_t CudaSites::FrameOf(std::uint32_t tid, std::uint64_t end) const noexcept {
  if (slots_ == nullptr || end == 0) return 0;
  const Site* const set = slots_ + SetOf(end);
  for (const Site* site = set; site != set + kWays; ++site) {
    if (site->time == end && site->tid == tid) return site->frame;
  }
  return 0;
}

void CudaSites::Forked() noexcept { g_noted.Forked(); }

}  // namespace hone::collect
