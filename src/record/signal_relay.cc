// SPDX-License-Identifier: Apache-2.0
#include "record/signal_relay.h"

#include <algorithm>
#include <utility>

namespace hone::record {
namespace {

using namespace std::chrono_literals;

// Who tells a control group tells one process after the other; all are told within this. It is
// also the delay of what is passed on.
constexpr auto kGrace = 100ms;
// The launcher may come to its own copy later than the sentinel to its. After this long it has
// none.
constexpr auto kReportHolds = 1s;
// A sentinel that somebody stopped does not answer.
constexpr auto kPatience = 1s;

}  // namespace

void SignalRelay::Took(int number, Time now) {
  Time& reached_until = reached_until_[static_cast<std::size_t>(number)];
  if (now < reached_until) {
    // `timeout` tells its child first and then the child's group: one report stands for both.
    reached_until = std::min(reached_until, now + kGrace);
    return;
  }
  waiting_.push_back({number, now + kGrace});
}

void SignalRelay::Reported(int number, Time now) {
  const auto same = [&](const Waiting& one) { return one.number == number; };
  const auto first = std::find_if(waiting_.begin(), waiting_.end(), same);
  reached_until_[static_cast<std::size_t>(number)] =
      first == waiting_.end() ? now + kReportHolds : first->due;
  std::erase_if(waiting_, same);
}

bool SignalRelay::Asks(Time now) {
  if (asked_ || waiting_.empty() || waiting_.front().due > now) return false;
  asked_ = now;
  return true;
}

void SignalRelay::Answered() {
  if (!asked_) return;  // too late, or nothing was to be known
  const Time asked = *std::exchange(asked_, std::nullopt);
  const auto later = std::find_if(waiting_.begin(), waiting_.end(),
                                  [&](const Waiting& one) { return one.due > asked; });
  for (auto one = waiting_.begin(); one != later; ++one) ready_.push_back(one->number);
  waiting_.erase(waiting_.begin(), later);
}

std::vector<int> SignalRelay::PassOn(Time now) {
  if (asked_ && now >= *asked_ + kPatience) Answered();
  return std::exchange(ready_, {});
}

std::optional<SignalRelay::Time> SignalRelay::next() const {
  if (asked_) return *asked_ + kPatience;
  if (!waiting_.empty()) return waiting_.front().due;
  return std::nullopt;
}

}  // namespace hone::record
