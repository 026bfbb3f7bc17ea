// SPDX-License-Identifier: Apache-2.0
#include "record/session.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <optional>
#include <utility>

#include "record/signal_relay.h"
#include "record/signal_sentinel.h"

namespace hone::record {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto kTick = 100ms;
// After the program's end: what it left running closes its windows within this, or is cut off.
constexpr auto kLinger = 1500ms;

// Passed on to the program unless it has been told already.
constexpr int kForwarded[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

// The kernel tells the whole foreground group of a terminal; a person's kill tells one process.
bool TerminalToldIt(const signalfd_siginfo& info) { return info.ssi_code > 0; }

}  // namespace

struct Session::Course {
  int signals;
  const InheritedSignals& inherited;
  pid_t program;
  Control& control;
  const SessionOptions& options;
  SessionListener& listener;

  bool running = true;  // the program
  int status = 0;
  pid_t analysis = -1;
  bool aborted = false;
  Closing closing{};  // what the analysis is about
  WindowWatch watch{};
  std::uint32_t analyzed_window = 0;
  bool answered = false;    // the full answer was tried
  bool told_start = false;  // of a program that has made no step yet
  int interrupts = 0;
  SignalSentinel sentinel{};
  SignalRelay relay{};
  Clock::time_point next_tick = Clock::now() + kTick;

  // Nothing more will be recorded: no reason to wake up before the program ends.
  bool Idle() const { return !options.every && watch.settled() && analysis < 0; }

  void StartAnalysis(Closing what) {
    closing = what;
    closing.file_error = control.FileError();
    aborted = false;
    listener.Closed(closing);
    answered = answered || closing.full;
    analyzed_window = closing.window;
    if (!options.analyze) return;
    const pid_t parent = ::getpid();
    analysis = ::fork();
    if (analysis < 0) listener.CannotAnalyze(errno);
    if (analysis != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    // Ctrl-C goes to the whole group; whether it is meant for us, the launcher decides.
    std::signal(SIGINT, SIG_IGN);
    std::signal(SIGQUIT, SIG_IGN);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::_exit(listener.Analyze(closing));
  }

  void Abort() {
    if (analysis <= 0) return;
    aborted = true;
    ::kill(analysis, SIGKILL);
  }

  void Reap() {
    int how = 0;
    for (pid_t pid = 0; (pid = ::waitpid(-1, &how, WNOHANG)) > 0;) {
      if (pid == program) {
        running = false;
        status = how;
      } else if (pid == analysis) {
        analysis = -1;
        listener.Analyzed(closing, how, aborted);
      } else {
        sentinel.Reaped(pid);
      }
    }
  }

  void Take(const signalfd_siginfo& info) {
    const int number = static_cast<int>(info.ssi_signo);
    if (number == SIGCHLD) return;  // Reap looks anyway
    const bool stop =
        number == SIGINT || number == SIGTERM || number == SIGQUIT || number == SIGHUP;
    if (!running) {
      if (stop) Abort();
      return;
    }
    if (!TerminalToldIt(info)) PassOnIfAlone(number);
    if (stop && ++interrupts > 1) Abort();
  }

  // What our group gets does not reach a program that has left it, so all of it is passed on.
  void PassOnIfAlone(int number) {
    if (sentinel.runs() && ::getpgid(program) == ::getpgrp()) {
      relay.Took(number, Clock::now());
    } else {
      ::kill(program, number);
    }
  }

  void PassOnWhatIsDue() {
    const Clock::time_point now = Clock::now();
    sentinel.Listen(relay, now);
    if (relay.Asks(now) && !sentinel.Ask()) relay.Answered();
    for (const int number : relay.PassOn(now)) ::kill(program, number);
  }

  // Until a signal, at most `timeout` (negative: for ever), at most until one is to be passed on.
  void Wait(std::chrono::milliseconds timeout) const {
    const std::optional<Clock::time_point> next = running ? relay.next() : std::nullopt;
    if (next) {
      const auto left = std::max(std::chrono::ceil<std::chrono::milliseconds>(*next - Clock::now()),
                                 std::chrono::milliseconds(0));
      timeout = timeout < 0ms ? left : std::min(timeout, left);
    }
    pollfd waiting[] = {{signals, POLLIN, 0}, {sentinel.fd(), POLLIN, 0}};
    ::poll(waiting, 2, static_cast<int>(timeout.count()));
  }

  void TakeSignals(std::chrono::milliseconds timeout) {
    Wait(timeout);
    signalfd_siginfo info{};
    while (::read(signals, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) Take(info);
    Reap();
    if (running) PassOnWhatIsDue();
  }

  void Tick() {
    next_tick = std::max(next_tick + kTick, Clock::now());
    Look();
    // One window is all: those that follow close too, and what starts later records nothing.
    if (!options.every && watch.closing_now()) control.Stop();
    if (analysis >= 0) return;
    if (watch.closed_window() > analyzed_window) {
      Closing now = watch.closing();
      now.full = !options.every;
      StartAnalysis(now);
    } else if (watch.awaits_step() && !std::exchange(told_start, true)) {
      Closing now = watch.closing();
      now.full = options.timed || control.FileError() != 0;  // no step would be recorded
      now.awaits_step = !now.full;
      StartAnalysis(now);
    }
  }

  void Look() {
    const std::vector<SlotView> slots = control.Read();
    watch.Look(slots, Clock::now());
    if (!watch.settled() && !watch.awaits_step()) listener.Recording(watch.status(), slots);
  }

  // What the program left behind may still be writing.
  void Linger() {
    control.Stop();
    const Clock::time_point deadline = Clock::now() + kLinger;
    for (;;) {
      watch.Look(control.Read(), Clock::now());
      if (!watch.recording() || Clock::now() >= deadline) break;
      TakeSignals(20ms);
      if (interrupts > 1) break;
    }
  }

  int Run() {
    // Not before the program: a signal to the group that comes between the two reaches it twice,
    // which a program that has just started takes as one; the other way round it would get none.
    sentinel.Start(NotIgnored(kForwarded, inherited), options.command);
    while (running) {
      const auto left =
          std::chrono::duration_cast<std::chrono::milliseconds>(next_tick - Clock::now());
      TakeSignals(Idle() ? -1ms : std::clamp<std::chrono::milliseconds>(left, 0ms, kTick));
      if (running && !Idle() && Clock::now() >= next_tick) Tick();
    }
    sentinel.End();
    if (!Idle()) {
      Look();
      Linger();
    }
    listener.ProgramEnded(status);
    while (analysis > 0) TakeSignals(-1ms);
    // A window that a late step opened may have been cut off by the end.
    if (!answered || watch.closing().window > analyzed_window) {
      Closing last = watch.closing();
      last.full = last.program_ended = true;
      StartAnalysis(last);
      while (analysis > 0) TakeSignals(-1ms);
    }
    return status;
  }
};

Result<Session> Session::Prepare() {
  Result<TakenSignals> signals = TakenSignals::Take(kForwarded);
  if (!signals) return std::move(signals).error();
  // Nobody reads our messages any more: no reason to leave the program alone.
  std::signal(SIGPIPE, SIG_IGN);
  return Session(std::move(*signals));
}

int Session::Run(pid_t program, Control& control, const SessionOptions& options,
                 SessionListener& listener) {
  Course course{signals_.fd(), signals_.inherited(), program, control, options, listener};
  return course.Run();
}

int ExitCodeOf(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace hone::record
