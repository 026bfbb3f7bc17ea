// SPDX-License-Identifier: Apache-2.0
#include "collect/recorder.h"

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <new>

#include "collect/bare_steps.h"
#include "collect/budget.h"
#include "collect/clock.h"
#include "collect/control.h"
#include "collect/fork_section.h"
#include "collect/futex.h"
#include "collect/host_source.h"
#include "collect/names.h"
#include "collect/notes.h"
#include "collect/options.h"
#include "collect/own_thread.h"
#include "collect/process_facts.h"
#include "collect/run_file.h"
#include "collect/slices.h"
#include "collect/torch_ops.h"

namespace hone::collect {
namespace {

constexpr std::uint64_t kRoundNanos = 100'000'000;
constexpr std::uint64_t kAnchorNanos = 1'000'000'000;
constexpr std::uint64_t kFlushNanos = 500'000'000;  // what a SIGKILL may cost
constexpr std::uint64_t kFinishNanos = 2'000'000'000;
constexpr std::size_t kMostSources = 16;

enum class Phase : std::uint32_t { kIdle, kStarting, kRunning, kFinishing, kFinished, kFailed };
enum class Want : std::uint32_t { kNothing, kOpen, kClose };

// All of it plain or atomic, and never destroyed: exit handlers and late threads may still call.
std::atomic<Phase> g_phase{Phase::kIdle};
std::atomic<bool> g_recording{false};
std::atomic<bool> g_sampling{false};
std::atomic<bool> g_python_hook{false};
std::atomic<Want> g_want{Want::kNothing};
std::atomic<std::uint32_t> g_wake{0};      // futex: a round is due now
std::atomic<std::uint32_t> g_finished{0};  // futex: the writer is done
pid_t g_pid = 0;

SpinLock g_sources_lock;
Source* g_sources[kMostSources];
std::atomic<std::size_t> g_source_count{0};

SpinLock g_window_lock;
alignas(Window) unsigned char g_window_memory[sizeof(Window)];
Window& TheWindow() { return *std::launder(reinterpret_cast<Window*>(g_window_memory)); }
BareSteps g_bare_steps;  // under the same lock
std::atomic<bool> g_timing{false};
Control g_control;
// Recording may begin while the library is loaded: a constructor that runs after that would forget
// what was noted.
constinit Notes g_notes;
RunFile* g_file = nullptr;  // leaked in the child of a fork

void Raise(std::atomic<std::uint32_t>& word) {
  word.fetch_add(1, std::memory_order_release);
  FutexWake(word);
}

void EndTiming();

void OpenWindow() {
  EndTiming();  // of the window before, where the next one comes soon
  {
    const std::lock_guard<SpinLock> guard(g_window_lock);
    TheWindow().Opened(MonotonicNanos());
  }
  ForgetBusy();
  g_notes.Mark(static_cast<std::uint8_t>(wire::MarkKind::kWindowOpen), TheWindow().number(), "");
  g_control.Set(wire::ProcessState::kFollowing);
  g_recording.store(true, std::memory_order_release);
  const std::lock_guard<SpinLock> guard(g_sources_lock);
  for (std::size_t i = 0; i < g_source_count.load(); ++i) g_sources[i]->Open();
}

void FlushFile(bool everything) {
  g_file->Flush(everything);
  if (g_file->failed()) g_control.FileFailed(g_file->error_number());
}

void DrainAll(bool last) {
  const std::size_t count = g_source_count.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < count; ++i) g_sources[i]->Drain(*g_file, last);
  g_notes.Drain(*g_file);
}

// Enough steps were timed without recording, or no more will come: what they took is written down.
void EndTiming() {
  std::uint64_t recorded_ns = 0, bare_ns = 0;
  std::uint32_t steps = 0, recorded_steps = 0;
  {
    const std::lock_guard<SpinLock> guard(g_window_lock);
    if (!g_bare_steps.timing()) return;
    steps = g_bare_steps.steps();
    if (steps > 0) bare_ns = g_bare_steps.step_ns();
    recorded_ns = g_bare_steps.recorded_ns();
    recorded_steps = TheWindow().steady_steps() - 1;
    g_bare_steps.End();
  }
  g_timing.store(false);
  // The operators' callbacks are gone already; that of the steps goes too, if no window returns.
  if (!RecorderFinishing() && !StepsMatterAfterClose()) TorchForgetSteps();
  if (steps == 0) return;
  char text[16];
  std::snprintf(text, sizeof(text), "%u", recorded_steps);
  g_notes.Mark(static_cast<std::uint8_t>(wire::MarkKind::kRecordedSteps),
               static_cast<std::int64_t>(recorded_ns), text);
  std::snprintf(text, sizeof(text), "%u", steps);
  g_notes.Mark(static_cast<std::uint8_t>(wire::MarkKind::kBareSteps),
               static_cast<std::int64_t>(bare_ns), text);
}

// `after`: what the others are told. A process that ends closes no window for them: another one may
// just be starting.
void CloseWindow(wire::ProcessState after) {
  std::uint32_t number = 0;
  std::uint64_t step_ns = 0;
  bool awaits_step = false, stepless = false;
  {
    const std::lock_guard<SpinLock> guard(g_window_lock);
    TheWindow().Closed();
    number = TheWindow().number();
    awaits_step = TheWindow().awaits_step() && !g_file->failed();  // then none comes back
    stepless = awaits_step || (TheWindow().opened_by_step() && !TheWindow().counts_steps());
    // Whoever is told to stop wants the answer now; a window that is back soon leaves no time.
    if (after == wire::ProcessState::kClosed && !g_control.StopAsked() && !g_file->failed() &&
        TheWindow().closed_for_ns() > 2 * BareSteps::kGiveUpNs) {
      step_ns = TheWindow().step_ns();
    }
    g_timing.store(step_ns > 0);
    // Not a window that is over for everyone: this one comes back.
    if (awaits_step) g_control.Steps(TheWindow().steady_steps(), 0);
  }
  {
    const std::lock_guard<SpinLock> guard(g_sources_lock);
    for (std::size_t i = 0; i < g_source_count.load(); ++i) g_sources[i]->Close();
  }
  g_recording.store(false, std::memory_order_release);
  g_sampling.store(false, std::memory_order_relaxed);
  g_notes.Mark(static_cast<std::uint8_t>(wire::MarkKind::kWindowClose), number,
               after == wire::ProcessState::kEnded ? "the process ends"
               : stepless                          ? "no step yet"
                                                   : "");
  DrainAll(true);
  g_file->WriteAnchor();
  FlushFile(true);
  if (step_ns > 0) {
    const std::lock_guard<SpinLock> guard(g_window_lock);
    g_bare_steps.Begin(MonotonicNanos(), step_ns);
    after = wire::ProcessState::kTiming;
  }
  g_control.Set(after);
}

void LookAtBareSteps() {
  {
    const std::lock_guard<SpinLock> guard(g_window_lock);
    if (!g_bare_steps.timing()) return;
    if (!g_bare_steps.Done(MonotonicNanos()) && !g_control.StopAsked()) return;
  }
  EndTiming();
  g_notes.Drain(*g_file);
  FlushFile(true);
  g_control.Set(wire::ProcessState::kClosed);
}

// Any thread. The callbacks that read arguments come and go with it.
void SetSampling(bool sampling) {
  if (g_sampling.load(std::memory_order_relaxed) == sampling) return;
  if (g_sampling.exchange(sampling, std::memory_order_relaxed) == sampling) return;
  TorchSampleArguments(sampling);
}

void HonourWishes() {
  const Want want = g_want.exchange(Want::kNothing, std::memory_order_acq_rel);
  const bool open = g_recording.load(std::memory_order_relaxed);
  if (open && (want == Want::kClose || g_control.StopAsked() || g_file->failed())) {
    CloseWindow(wire::ProcessState::kClosed);
  } else if (!open && want == Want::kOpen && !g_control.StopAsked() && !g_file->failed()) {
    OpenWindow();
  } else if (open) {
    Window::Action action;
    bool follows, sampling;
    {
      const std::uint64_t busy = BusySince();
      const std::uint64_t now = MonotonicNanos();
      const std::uint64_t ago = busy == 0 ? 0 : (Ticks() - busy) * 1000 / (TicksIn(1000) + 1);
      const std::lock_guard<SpinLock> guard(g_window_lock);
      action = TheWindow().Tick(now, busy == 0 ? 0 : now - ago);
      // Whose step opened the window makes its own, however long the first one takes.
      follows = !TheWindow().counts_steps() && !TheWindow().opened_by_step() && !GetOptions().all;
      sampling = TheWindow().sampling();
    }
    // A worker that loads for somebody who steps is recorded as long as that one is.
    const bool serves = follows && g_control.SomebodySteps();
    const bool needed = serves && GetOptions().seconds <= 0;
    SetSampling(sampling && !serves);
    if ((action == Window::Action::kClose && !needed) || (follows && g_control.SteppersClosed())) {
      CloseWindow(wire::ProcessState::kClosed);
    }
  }
}

// One thing after the other until the process ends or nothing will ever be recorded again.
void* WriterMain(void*) {
  // Nothing this thread does is the program's.
  if (ThreadState* const state = GetThreadState()) state->busy = true;
  std::uint64_t last_anchor = 0, last_flush = 0, last_look = MonotonicNanos();
  bool alone = false;  // the program's threads are gone
  for (;;) {
    const std::uint32_t wake = g_wake.load(std::memory_order_acquire);
    const bool finishing = g_phase.load(std::memory_order_acquire) == Phase::kFinishing;
    if (!finishing && g_want.load() == Want::kNothing) {
      // After the last window there is nothing to wait for but the end.
      const bool asleep = !g_recording.load() && !g_timing.load() && TheWindow().number() > 0;
      FutexWait(g_wake, wake, asleep ? kAnchorNanos : kRoundNanos);
    }
    if (g_phase.load(std::memory_order_acquire) == Phase::kFinishing) break;
    if (MonotonicNanos() - last_look >= kAnchorNanos) {
      last_look = MonotonicNanos();
      if (OnlyOwnThreadsLeft()) {
        Phase running = Phase::kRunning;
        alone = g_phase.compare_exchange_strong(running, Phase::kFinishing);
        break;
      }
    }
    if (!g_python_hook.load(std::memory_order_relaxed)) TorchLook();
    HonourWishes();
    if (g_timing.load()) LookAtBareSteps();
    if (!g_recording.load()) continue;
    DrainAll(false);
    const std::uint64_t now = MonotonicNanos();
    if (now - last_anchor >= kAnchorNanos) {
      g_file->WriteAnchor();
      last_anchor = now;
    }
    FlushFile(now - last_flush >= kFlushNanos);
    if (now - last_flush >= kFlushNanos) last_flush = now;
  }
  if (g_recording.load()) CloseWindow(wire::ProcessState::kEnded);
  EndTiming();
  g_notes.Mark(static_cast<std::uint8_t>(wire::MarkKind::kEnd), 0, "");
  WriteThreadNames(*g_file, true);
  DrainAll(true);
  g_file->WriteAnchor();
  FlushFile(true);
  g_control.Set(wire::ProcessState::kEnded);
  g_phase.store(Phase::kFinished, std::memory_order_release);
  Raise(g_finished);
  if (alone) std::exit(0);  // as the last of the program's threads would have done
  // The process is ending, and takes this thread with it. Returning would run destructors of
  // whatever others keep per thread (torch does), in libraries that are being taken down.
  for (;;) pause();
}

}  // namespace

bool RecorderWanted() noexcept {
  return GetOptions().folder[0] != 0 && g_phase.load() != Phase::kFailed;
}

bool RecorderStarted() noexcept {
  return g_phase.load(std::memory_order_acquire) == Phase::kRunning;
}

bool RecorderFinishing() noexcept {
  return g_phase.load(std::memory_order_acquire) >= Phase::kFinishing;
}

bool StartRecorder() noexcept {
  if (RecorderStarted()) return true;
  Phase idle = Phase::kIdle;
  if (!RecorderWanted() || !g_phase.compare_exchange_strong(idle, Phase::kStarting)) return false;
  ThreadState* const state = GetThreadState();
  const Guest guest(state);
  PrepareClock();
  HoldForks();
  g_pid = getpid();
  g_control.Attach(GetOptions().folder);
  // The run is over for everyone: a process that starts now (a worker of the next epoch) is late.
  if (g_control.StopAsked() || (g_control.OverForAll() && GetOptions().every == 0)) {
    g_control.Set(wire::ProcessState::kEnded);
    g_phase.store(Phase::kFailed);
    return false;
  }
  const Options& options = GetOptions();
  const WindowOptions window = {options.steps,   options.least_seconds,
                                options.seconds, options.all,
                                options.every,   options.seconds_without_steps};
  new (g_window_memory) Window(window);
  g_file = new (std::nothrow) RunFile;
  if (g_file == nullptr || !g_file->Create(GetOptions().folder)) {
    if (g_file != nullptr) g_control.FileFailed(g_file->error_number());
    g_control.Set(wire::ProcessState::kEnded);
    g_phase.store(Phase::kFailed);
    return false;
  }
  WriteProcessFacts(*g_file);
  if (g_control.crowded_out()) {
    g_file->Loss(
        "window", 1,
        "256 others are recorded at the same time, so hone run did not see this process: it "
        "was recorded, but the answer did not wait for it; start fewer, or one hone run each");
  }
  g_file->WriteAnchor();
  FlushFile(true);
  AddHostSources();
  OpenWindow();
  g_phase.store(Phase::kRunning, std::memory_order_release);
  if (!StartOwnThread("hone-writer", WriterMain, nullptr)) {
    g_recording.store(false);
    g_phase.store(Phase::kFailed);
    return false;
  }
  return true;
}

void FinishRecorder() noexcept {
  if (getpid() != g_pid) return;  // the child of a vfork, or of a fork behind our back
  Phase running = Phase::kRunning;
  if (!g_phase.compare_exchange_strong(running, Phase::kFinishing)) return;
  Raise(g_wake);
  const std::uint64_t deadline = MonotonicNanos() + kFinishNanos;
  while (g_phase.load(std::memory_order_acquire) == Phase::kFinishing) {
    const std::uint32_t seen = g_finished.load();
    const std::uint64_t now = MonotonicNanos();
    if (now >= deadline) return;
    if (g_phase.load() == Phase::kFinishing) FutexWait(g_finished, seen, deadline - now);
  }
}

void ForkedRecorder() noexcept {
  ForkedBudget();
  ForkedNames();
  ForkedThreads();
  g_notes.Forked();
  g_sources_lock.Reset();
  g_window_lock.Reset();
  g_control.Forked();
  const std::size_t count = g_source_count.load();
  for (std::size_t i = 0; i < count; ++i) g_sources[i]->Forked();
  g_file = nullptr;
  g_recording.store(false);
  g_sampling.store(false);
  g_timing.store(false);
  g_bare_steps = {};
  g_want.store(Want::kNothing);
  const Phase phase = g_phase.load();
  // A child of a recorded process records too, from its first event on.
  if (phase != Phase::kIdle && phase != Phase::kFailed) g_phase.store(Phase::kIdle);
}

bool StepsMatterAfterClose() noexcept {
  const std::lock_guard<SpinLock> guard(g_window_lock);
  return TheWindow().returns() || g_timing.load();
}
bool Recording() noexcept { return g_recording.load(std::memory_order_relaxed); }
bool SamplingArguments() noexcept { return g_sampling.load(std::memory_order_relaxed); }
void PythonHookPresent() noexcept { g_python_hook.store(true, std::memory_order_relaxed); }

void AddSource(Source& source) noexcept {
  const std::lock_guard<SpinLock> guard(g_sources_lock);
  const std::size_t count = g_source_count.load();
  for (std::size_t i = 0; i < count; ++i) {
    if (g_sources[i] == &source) return;
  }
  if (count == kMostSources) return;
  g_sources[count] = &source;
  // Opened before the writer can see it: draining what is half open is nobody's business.
  if (g_recording.load()) source.Open();
  g_source_count.store(count + 1, std::memory_order_release);
}

void NoteStep(StepSign sign) noexcept {
  if (!RecorderStarted()) return;
  Window::Action action;
  bool sampling;
  {
    const std::lock_guard<SpinLock> guard(g_window_lock);
    Window& window = TheWindow();
    const std::uint64_t now = MonotonicNanos();
    action = window.Step(sign, now);
    if (sign == window.sign()) g_bare_steps.Step(now);
    sampling = window.sampling();
    if (window.open()) {
      g_control.Steps(window.steady_steps(), window.number());
      g_control.Set(wire::ProcessState::kStepping);
    }
  }
  SetSampling(sampling);
  if (action == Window::Action::kNone) return;
  g_want.store(action == Window::Action::kClose ? Want::kClose : Want::kOpen);
  Raise(g_wake);
}

void NoteResumed() noexcept {
  const std::lock_guard<SpinLock> guard(g_window_lock);
  TheWindow().Resumed();
}

void NoteMark(std::uint8_t kind, std::int64_t value, std::string_view text) noexcept {
  g_notes.Mark(kind, value, text);
}
void NoteInfo(std::string_view key, std::string_view value) noexcept { g_notes.Info(key, value); }
void NoteLoss(std::string_view what, std::uint64_t count, std::string_view detail) noexcept {
  g_notes.Loss(what, count, detail);
}

}  // namespace hone::collect
