// SPDX-License-Identifier: Apache-2.0
// Window: when recording stops, and begins again. Pure: fed with step marks and the time, it says
// what to do. Recording starts with the process, so a short program is seen whole; the steps until
// the program is steady are recorded and not counted. A window that closed before the first step of
// an optimizer, because a model took its time to load, opens again with it.
#pragma once

#include <cstdint>

namespace hone::collect {

// How a step shows itself, the more trusted the higher: a user's own marks win over the
// optimizer's, those over the loader's.
enum class StepSign : std::uint8_t { kLoader = 0, kOptimizer = 1, kExplicit = 2 };

struct WindowOptions {
  std::uint32_t steps = 30;
  double least_seconds = 0;  // of steady steps, however many that is
  double seconds = 0;
  bool all = false;
  std::uint32_t every = 0;
  // A program without a step of an optimizer's or its own is recorded for so long after its first
  // operator.
  double seconds_without_steps = 30;
};

class Window {
 public:
  enum class Action : std::uint8_t { kNone, kClose, kOpen };

  explicit Window(const WindowOptions& options) noexcept : options_(options) {}

  // A step ended. Times in nanoseconds of any steady clock.
  Action Step(StepSign sign, std::uint64_t now_ns) noexcept;
  // Time passes. `busy_since_ns`: when the first operator or kernel of this window was seen; 0:
  // none.
  Action Tick(std::uint64_t now_ns, std::uint64_t busy_since_ns) noexcept;
  // It was opened or closed, for whatever reason.
  void Opened(std::uint64_t now_ns) noexcept;
  void Closed() noexcept;
  // Another tool had the device for a while: what came before is no part of what is analyzed, so
  // steps count from here. A tool that comes and goes all the time does not keep it open for ever.
  void Resumed() noexcept;

  bool open() const noexcept { return open_; }
  bool steady() const noexcept { return steady_steps_ > 0; }
  std::uint32_t steady_steps() const noexcept { return steady_steps_; }
  std::uint32_t number() const noexcept { return number_; }
  bool counts_steps() const noexcept { return marks_ > 0; }
  // The first one opens with the process, all others with a step.
  bool opened_by_step() const noexcept { return number_ > 1; }
  StepSign sign() const noexcept { return sign_; }
  // Mean of the steady steps of this window; 0: too few.
  std::uint64_t step_ns() const noexcept {
    return steady_steps_ > 1 ? (last_mark_ns_ - steady_since_ns_) / (steady_steps_ - 1) : 0;
  }
  // Whether arguments of operators are worth their price just now: the first two steady steps.
  // Where nothing trains, the first eight, because text that grows by a token a step is told by
  // four changes; and without a mark of a step, two seconds once the program has warmed up.
  bool sampling() const noexcept {
    if (!open_) return false;
    if (marks_ == 0) return unmarked_sampling_;
    return steady_steps_ >= 1 && steady_steps_ <= (trains_ ? 2u : 8u);
  }
  // Closed before the program made a step that counts: the first one opens it again.
  bool awaits_step() const noexcept { return awaits_step_; }
  // How long it stays closed, if steps go on as they were.
  std::uint64_t closed_for_ns() const noexcept {
    if (options_.every == 0) return UINT64_MAX;
    return marks_since_opening_ < options_.every
               ? (options_.every - marks_since_opening_) * step_ns()
               : 0;
  }
  // Whether step marks matter after the window closed.
  bool returns() const noexcept { return options_.every > 0 || awaits_step_; }

  // Steps are steady once three in a row lie within a quarter of their middle one; a program that
  // never gets there is measured as it is after so many.
  static constexpr std::uint32_t kLongestWarmUp = 20;
  // Without a mark of a step, operators' arguments are taken between these seconds of it, so that
  // half a second a pass still shows four.
  static constexpr double kArgumentsFrom = 1, kArgumentsUntil = 3;
  // A loader's batches count as steps only when no optimizer showed up during so many windows'
  // worth of them: accumulation of gradients takes many batches a step.
  static constexpr std::uint32_t kLoaderPatience = 4;
  static constexpr std::uint32_t kMostRestarts = 3;  // of a window

 private:
  bool Settled() const noexcept;

  WindowOptions options_;
  bool open_ = false, awaits_step_ = false;
  std::uint32_t number_ = 0;
  std::uint64_t opened_ns_ = 0;
  StepSign sign_ = StepSign::kLoader;
  std::uint32_t marks_ = 0;  // of the sign in force, in this window
  std::uint32_t steady_steps_ = 0;
  std::uint32_t restarts_ = 0;
  bool trains_ = false;  // an optimizer stepped
  bool unmarked_sampling_ = false;
  std::uint64_t steady_since_ns_ = 0;  // the mark that opened the first steady step
  std::uint64_t last_mark_ns_ = 0;
  std::uint64_t recent_ns_[3] = {};  // lengths of the last steps
  std::uint64_t marks_since_opening_ = 0;
};

}  // namespace hone::collect
