// SPDX-License-Identifier: Apache-2.0
// SignalSentinel: a process beside the launcher, in its process group, session and control group,
// that tells which signals it got. What it got was not sent to the launcher alone.
//
// It sleeps in poll(2), has no descriptor but the line to the launcher, and dies with it. Its name
// is "signal-sentinel" and its command line "signals CMD...": `pkill` finds it where it finds the
// program, and not where it finds the launcher alone (`pkill hone`), which is to be passed on.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <string>
#include <vector>

#include "record/signal_relay.h"

namespace hone::record {

class SignalSentinel {
 public:
  SignalSentinel() = default;
  SignalSentinel(const SignalSentinel&) = delete;
  SignalSentinel& operator=(const SignalSentinel&) = delete;
  ~SignalSentinel() { End(); }

  // Forks; the calling process must have one thread. `command` is the end of its command line.
  // Without a process to be had nothing is started.
  void Start(const sigset_t& signals, const std::vector<std::string>& command);
  // Kills it and waits for it. Nothing if it does not run.
  void End();

  // Somebody waited for a child, and it was this one.
  void Reaped(pid_t pid);

  bool runs() const { return line_ >= 0; }
  int fd() const { return line_; }  // readable when Listen has something to do; -1: does not run

  // Hands over what it said. Does not block. Ends it when it is gone.
  void Listen(SignalRelay& relay, SignalRelay::Time now);
  // False: it is gone. The answer comes to Listen, after all it got before.
  bool Ask();

 private:
  int line_ = -1;
  pid_t pid_ = -1;
};

}  // namespace hone::record
