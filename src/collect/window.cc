// SPDX-License-Identifier: Apache-2.0
#include "collect/window.h"

#include <algorithm>

namespace hone::collect {

void Window::Opened(std::uint64_t now_ns) noexcept {
  open_ = true;
  awaits_step_ = false;
  ++number_;
  opened_ns_ = now_ns;
  marks_ = steady_steps_ = 0;
  marks_since_opening_ = 0;
  last_mark_ns_ = 0;
  restarts_ = 0;
}

void Window::Resumed() noexcept {
  if (!open_ || restarts_ == kMostRestarts) return;
  ++restarts_;
  marks_ = steady_steps_ = 0;
  last_mark_ns_ = 0;
}

void Window::Closed() noexcept {
  open_ = false;
  const bool stepped = sign_ > StepSign::kLoader && marks_ > 0;
  awaits_step_ = !stepped && number_ == 1 && !options_.all && options_.seconds <= 0;
}

bool Window::Settled() const noexcept {
  if (marks_ > kLongestWarmUp) return true;
  if (marks_ < 4) return false;  // three lengths need four marks
  std::uint64_t sorted[3] = {recent_ns_[0], recent_ns_[1], recent_ns_[2]};
  std::sort(sorted, sorted + 3);
  const std::uint64_t quarter = sorted[1] / 4;
  return sorted[0] + quarter >= sorted[1] && sorted[2] <= sorted[1] + quarter;
}

Window::Action Window::Step(StepSign sign, std::uint64_t now_ns) noexcept {
  trains_ = trains_ || sign == StepSign::kOptimizer;
  if (sign < sign_) return Action::kNone;
  if (sign > sign_) {
    sign_ = sign;
    marks_ = steady_steps_ = 0;
    marks_since_opening_ = 0;
  }
  ++marks_since_opening_;
  if (!open_) {
    if (awaits_step_) return sign > StepSign::kLoader ? Action::kOpen : Action::kNone;
    return options_.every > 0 && marks_since_opening_ >= options_.every ? Action::kOpen
                                                                        : Action::kNone;
  }
  if (marks_ > 0) recent_ns_[marks_ % 3] = now_ns - last_mark_ns_;
  last_mark_ns_ = now_ns;
  ++marks_;
  if (steady_steps_ > 0 || Settled()) ++steady_steps_;
  if (steady_steps_ == 1) steady_since_ns_ = now_ns;
  if (options_.all || options_.seconds > 0) return Action::kNone;
  // The first steady mark opens the first counted step.
  const std::uint64_t wanted = options_.steps + std::uint64_t{1};
  const std::uint64_t needed = sign_ == StepSign::kLoader ? wanted * kLoaderPatience : wanted;
  if (steady_steps_ < needed) return Action::kNone;
  // Half of the job at most is spent in windows.
  if (options_.every > 0 && 2 * marks_since_opening_ >= options_.every) return Action::kClose;
  const auto lasted = static_cast<double>(now_ns - steady_since_ns_);
  return lasted >= options_.least_seconds * 1e9 ? Action::kClose : Action::kNone;
}

Window::Action Window::Tick(std::uint64_t now_ns, std::uint64_t busy_since_ns) noexcept {
  if (!open_ || busy_since_ns == 0) return Action::kNone;
  const auto busy_ns =
      static_cast<double>(now_ns - std::min(now_ns, std::max(busy_since_ns, opened_ns_)));
  unmarked_sampling_ = busy_ns >= kArgumentsFrom * 1e9 && busy_ns < kArgumentsUntil * 1e9;
  if (options_.all) return Action::kNone;
  const double limit = options_.seconds > 0                      ? options_.seconds
                       : sign_ > StepSign::kLoader && marks_ > 0 ? 0
                                                                 : options_.seconds_without_steps;
  if (limit <= 0) return Action::kNone;
  const std::uint64_t since = std::max(busy_since_ns, opened_ns_);
  const bool over = now_ns > since && static_cast<double>(now_ns - since) >= limit * 1e9;
  return over ? Action::kClose : Action::kNone;
}

}  // namespace hone::collect
