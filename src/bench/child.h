// SPDX-License-Identifier: Apache-2.0
// ChildRunner: runs a command to its end and measures it from outside. One at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "bench/steppers.h"
#include "record/environment.h"
#include "record/taken_signals.h"

namespace hone::bench {

struct ChildOptions {
  std::vector<std::string> command;
  record::Variables variables;
  std::string output;    // file that stdout and stderr go to, in the order written
  double timeout_s = 0;  // 0: none
  // Where its processes tell who steps (steppers.h). Once all that was to be seen is over, a
  // program that does not end in the seconds after that waits for somebody who left: it is ended,
  // and that is fine. One that waits for a process that was killed is ended too, and that is not.
  // May be empty.
  std::string steppers;
  // For a program to notice that a process was killed, and to say so or to start another: importing
  // PyTorch takes up to 10 s on a busy machine.
  double lost_s = 15;
};

struct ChildOutcome {
  int exit_code = 0;  // as a shell would say
  int signal = 0;
  bool timed_out = false, interrupted = false;
  bool done = false;  // all that was to be seen was: how the program ended does not matter
  std::optional<LostProcess> lost;  // that was killed; what the program says of it comes first
  bool waited_for_lost = false;     // and was ended for that
  std::int64_t start_ns = 0, end_ns = 0;  // the system's monotonic clock
  double wall_s = 0;                      // from before the fork to its end
  double cpu_s = 0;                       // of the program and what it waited for
  std::int64_t peak_rss_bytes = 0;
  bool fine() const {
    return (exit_code == 0 || done) && !timed_out && !interrupted && !waited_for_lost;
  }
};

// Takes SIGINT, SIGTERM, SIGHUP and SIGCHLD over while it lives; the process must have one thread.
class ChildRunner {
 public:
  static Result<ChildRunner> Prepare();

  // The error: it cannot be started. stdin: the file that hone's own is, from its
  // beginning; else empty. `tick` is called ten times a second. Ctrl-C or
  // the timeout end the whole process group: asked first, killed two seconds later; and what the
  // program leaves running when it ends is killed, so that it does not disturb the next run.
  Result<ChildOutcome> Run(const ChildOptions& options, const std::function<void()>& tick);
  // Since it was made, in a run or between runs.
  bool interrupted();

 private:
  explicit ChildRunner(record::TakenSignals signals) : signals_(std::move(signals)) {}
  void TakeSignals(int timeout_ms);

  record::TakenSignals signals_;
  bool interrupted_ = false;
};

// The last lines of a file, joined by " | ", at most `most` of them and 300 bytes.
std::string LastLines(const std::string& path, std::size_t most);
std::string ReadWhole(const std::string& path);

}  // namespace hone::bench
