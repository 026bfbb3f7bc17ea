// SPDX-License-Identifier: Apache-2.0
#include "collect/python_sampler.h"

#include <atomic>
#include <cstdint>

#include "collect/budget.h"
#include "collect/clock.h"
#include "collect/foreign_memory.h"
#include "collect/futex.h"
#include "collect/options.h"
#include "collect/own_thread.h"
#include "collect/python_frames.h"
#include "collect/python_threads.h"
#include "collect/recorder.h"
#include "collect/source.h"
#include "collect/thread_state.h"

namespace hone::collect {
namespace {

struct Sample {
  std::uint64_t time, period;  // ticks
  std::uint32_t tid, frame;
  PythonThreads::Now now;
};

// From the sampler to the writer, one each. 100 ms of 100 Hz of 50 threads are 500.
class SampleRing {
 public:
  bool Prepare() noexcept {
    if (samples_ == nullptr)
      samples_ = static_cast<Sample*>(TakeMemory(kRoom * sizeof(Sample), AfterFork::kKept));
    return samples_ != nullptr;
  }
  void Put(const Sample& sample) noexcept {
    const std::uint32_t put = put_.load(std::memory_order_relaxed);
    if (put - taken_.load(std::memory_order_acquire) == kRoom) {
      lost_.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    samples_[put % kRoom] = sample;
    put_.store(put + 1, std::memory_order_release);
  }
  template <typename Take>
  void Drain(const Take& take) noexcept {
    const std::uint32_t put = put_.load(std::memory_order_acquire);
    std::uint32_t taken = taken_.load(std::memory_order_relaxed);
    for (; taken != put; ++taken) take(samples_[taken % kRoom]);
    taken_.store(taken, std::memory_order_release);
  }
  std::uint64_t TakeLost() noexcept { return lost_.exchange(0, std::memory_order_relaxed); }
  void Forked() noexcept {
    put_.store(0, std::memory_order_relaxed);
    taken_.store(0, std::memory_order_relaxed);
    lost_.store(0, std::memory_order_relaxed);
  }

 private:
  static constexpr std::uint32_t kRoom = 8192;
  Sample* samples_ = nullptr;
  std::atomic<std::uint32_t> put_{0}, taken_{0};
  std::atomic<std::uint64_t> lost_{0};
};

SampleRing g_ring;
PythonThreads g_threads;
// Odd: a sampler is wanted. Each thread runs for one value; a new one waits until the last is gone.
std::atomic<std::uint32_t> g_turn{0};
std::atomic<std::uint32_t> g_alive{0};
std::atomic<std::uint64_t> g_torn{0};
std::atomic<std::uint64_t> g_crowded{0};  // rounds that did not reach all threads

void SampleFor(std::uint32_t turn) noexcept {
  const std::uint64_t period_ns = 1'000'000'000u / GetOptions().stack_hz;
  std::uint64_t random = Ticks() | 1;
  std::uint64_t last = Ticks() - TicksIn(period_ns);
  while (g_turn.load(std::memory_order_acquire) == turn) {
    const std::uint64_t began = MonotonicNanos();
    const std::uint64_t now = Ticks();
    const std::uint64_t period = now - last;
    last = now;
    const std::uint64_t torn = g_threads.torn();
    g_threads.Look([&](const PythonThread& thread, PythonThreads::Now state) {
      g_ring.Put({thread.ticks, period, thread.tid, thread.frame, state});
    });
    g_torn.fetch_add(g_threads.torn() - torn, std::memory_order_relaxed);
    g_crowded.store(g_threads.too_many(), std::memory_order_relaxed);
    // Not in step with a program that does something every 10 ms: 3/4 to 5/4 of the period.
    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    const std::uint64_t wanted = period_ns * 3 / 4 + random % (period_ns / 2 + 1);
    const std::uint64_t used = MonotonicNanos() - began;
    // A look that takes long (hundreds of threads) must not become a burden: half a core at most.
    FutexWait(g_turn, turn, wanted > 2 * used ? wanted - used : used);
  }
}

void* SamplerMain(void* argument) noexcept {
  const auto turn = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(argument));
  if (ThreadState* state = GetThreadState()) state->busy = true;
  std::uint32_t nobody = 0;
  while (!g_alive.compare_exchange_strong(nobody, 1)) {
    if (g_turn.load(std::memory_order_acquire) != turn) return nullptr;
    FutexWait(g_turn, turn, 1'000'000);
    nobody = 0;
  }
  if (g_threads.Prepare(g_python.layout, g_python_stacks)) {
    SampleFor(turn);
  } else {
    NoteLoss("python", 1, "threads' numbers were not found in memory; no samples of Python stacks");
  }
  g_alive.store(0, std::memory_order_release);
  return nullptr;
}

class PythonSource final : public Source {
 public:
  const char* name() const noexcept override { return "python"; }

  void Open() noexcept override {
    if (GetOptions().stack_hz == 0 || !PythonKnown() || !g_ring.Prepare()) return;
    const std::uint32_t turn = g_turn.load(std::memory_order_relaxed) + 1;
    if (turn % 2 == 0) return;  // open already
    g_turn.store(turn, std::memory_order_release);
    void* const argument = reinterpret_cast<void*>(std::uintptr_t{turn});
    if (StartOwnThread("hone-sampler", SamplerMain, argument)) return;
    g_turn.store(turn + 1, std::memory_order_release);
    NoteLoss("python", 1, "no thread could be started; no samples of Python stacks");
  }

  void Close() noexcept override {
    const std::uint32_t turn = g_turn.load(std::memory_order_relaxed);
    if (turn % 2 == 0) return;
    g_turn.store(turn + 1, std::memory_order_release);
    FutexWake(g_turn);
  }

  void Drain(Output& output, bool last) noexcept override {
    g_python_stacks.Drain(output);
    g_ring.Drain([&](const Sample& sample) {
      ++taken_;
      output.Row(wire::Table::kSamples, sample.tid, sample.time, sample.frame,
                 static_cast<std::uint8_t>(sample.now), sample.period);
    });
    if (const std::uint64_t lost = g_ring.TakeLost()) {
      output.Loss("python samples", lost, "the recorder's ring of samples was full");
    }
    TellTorn(output, last);
  }

  void Forked() noexcept override {
    g_turn.store(0, std::memory_order_relaxed);
    g_alive.store(0, std::memory_order_relaxed);
    g_torn.store(0, std::memory_order_relaxed);
    g_ring.Forked();
    g_threads.Forked();
    ForeignMemoryForked();
    g_python_stacks.Forked();
    PythonFramesForked();
    taken_ = 0;
  }

 private:
  // A few stacks in a hundred that moved too fast to be read are what sampling is; more is a loss.
  void TellTorn(Output& output, bool last) noexcept {
    if (!last) return;
    const std::uint64_t torn = g_torn.exchange(0, std::memory_order_relaxed);
    if (torn * 20 > taken_) {
      output.Loss("python samples", torn, "stacks changed faster than they could be read");
    }
    const std::uint64_t crowded = g_crowded.load(std::memory_order_relaxed);
    if (crowded > told_crowded_) {
      output.Loss("python samples", crowded - told_crowded_,
                  "rounds in which some of more than 512 threads were not looked at");
      told_crowded_ = crowded;
    }
    taken_ = 0;
  }

  std::uint64_t taken_ = 0;         // samples of this window
  std::uint64_t told_crowded_ = 0;  // of g_crowded
};
PythonSource g_source;

}  // namespace

void AddPythonSource() noexcept { AddSource(g_source); }

}  // namespace hone::collect
