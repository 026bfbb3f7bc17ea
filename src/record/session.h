// SPDX-License-Identifier: Apache-2.0
// Session: from the program's start to its end. Waits for the program, passes signals on, looks at
// the control page ten times a second, and starts the analysis when a window has closed.
//
// One thread, one poll(2). The analysis is a forked process of its own: it can be aborted, it may
// run out of memory without taking the exit code along, and its memory is gone when it ends. Once
// everything is recorded and analyzed, the launcher sleeps until the program ends. A second process
// says which signals the program has got without us (signal_sentinel.h).
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "record/control.h"
#include "record/launch.h"
#include "record/taken_signals.h"
#include "record/window_watch.h"

namespace hone::record {

// What is asked of whoever drives the session. Calls come from the session's thread.
class SessionListener {
 public:
  virtual ~SessionListener() = default;
  // Ten times a second while anything is being recorded.
  virtual void Recording(const RecordingStatus& status, const std::vector<SlotView>& slots) = 0;
  virtual void Closed(const Closing& closing) = 0;  // before the analysis is started
  // In the forked process. Returns its exit code; lets no exception out.
  virtual int Analyze(const Closing& closing) = 0;
  // `status` as waitpid gives it; `aborted`: by the user.
  virtual void Analyzed(const Closing& closing, int status, bool aborted) = 0;
  // It could not be started: errno.
  virtual void CannotAnalyze(int error) = 0;
  virtual void ProgramEnded(int status) = 0;
};

struct SessionOptions {
  bool every = false;  // windows come again and again
  bool timed = false;  // a window is over after a time, whatever the program does
  bool analyze = true;
  std::vector<std::string> command{};  // the program's, as it ends our own command line
};

class Session {
 public:
  // Takes the signals over; the program must be started after this, with `inherited()`.
  static Result<Session> Prepare();

  const InheritedSignals& inherited() const { return signals_.inherited(); }

  // Returns the program's status as waitpid gives it.
  int Run(pid_t program, Control& control, const SessionOptions& options,
          SessionListener& listener);

 private:
  struct Course;
  explicit Session(TakenSignals signals) : signals_(std::move(signals)) {}

  TakenSignals signals_;
};

// What a shell makes of it: the exit code, or 128 + the signal.
int ExitCodeOf(int status);

}  // namespace hone::record
