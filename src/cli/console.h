// SPDX-License-Identifier: Apache-2.0
// Where a command reads its surroundings and writes its answer.
#pragma once

#include <ostream>

namespace hone::cli {

struct Console {
  std::ostream& out;  // results
  std::ostream& err;  // progress and errors
  int out_fd = -1;    // behind the streams, to ask for a terminal; -1: none
  int err_fd = -1;
  bool pipe_was_ignored = false;  // SIGPIPE, by whoever started us
};

// docs/user/exit-codes.md
enum ExitCode : int {
  kExitFine = 0,
  kExitFailed = 1,      // hone itself failed: output cannot be written, out of memory, a bug
  kExitUsage = 2,       // the command line is wrong
  kExitUnreadable = 3,  // an input could not be read, or only in part
  kExitGate = 4,        // a condition that was asked for is met: --fail-if, slower than --against
  kExitInvalid = 5,     // two programs that did not do the same work were compared
};

}  // namespace hone::cli
