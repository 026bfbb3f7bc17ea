// SPDX-License-Identifier: Apache-2.0
// SignalRelay: which signals are passed on. A signal that a process sent to the launcher alone is
// the program's too; one that was sent to the whole process group or control group has reached the
// program already. Nothing in a signal says which it was: a sentinel beside the launcher, which
// gets what the group gets, does (signal_sentinel.h).
//
// No clocks and no processes in here: time is handed in.
#pragma once

#include <array>
#include <chrono>
#include <csignal>
#include <optional>
#include <vector>

namespace hone::record {

class SignalRelay {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // A process sent it to the launcher.
  void Took(int number, Time now);
  // The sentinel got it from a process.
  void Reported(int number, Time now);

  // Whether the sentinel is to be asked for all it got so far. Each question is said once.
  bool Asks(Time now);
  // It has said all: what is not reported by now was not sent to it. Also when there is nobody to
  // ask.
  void Answered();

  // What is to be passed on now, in the order it came; each is given once.
  std::vector<int> PassOn(Time now);

  // When to call Asks or PassOn again; nothing: not before the next signal.
  std::optional<Time> next() const;

 private:
  struct Waiting {
    int number;
    Time due;
  };
  std::vector<Waiting> waiting_;  // ascending by due
  std::optional<Time> asked_;
  std::vector<int> ready_;
  // By number: what comes before this has reached the program too.
  std::array<Time, NSIG> reached_until_{};
};

}  // namespace hone::record
