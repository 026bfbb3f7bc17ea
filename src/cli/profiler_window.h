// SPDX-License-Identifier: Apache-2.0
// ProfilerWindow: what tells files of one process from ranks of a job. A schedule that repeats (and
// tensorboard_trace_handler) writes a file for each of its windows, one after the other.
#pragma once

#include <cstdint>
#include <optional>

#include "base/units.h"
#include "trace/trace.h"

namespace hone::cli {

struct ProfilerWindow {
  std::int64_t pid = -1;   // of the process with most host events
  std::int64_t rank = -1;  // as the file says
  Nanos begin_ns = 0, end_ns = 0;

  // Nothing of PyTorch's, or nothing of a host in it. Linear in host rows.
  static std::optional<ProfilerWindow> Of(const trace::Trace& trace);
  // The same process, and not at the same time.
  bool OfOneProcessWith(const ProfilerWindow& other) const {
    return pid == other.pid && rank == other.rank &&
           (end_ns <= other.begin_ns || other.end_ns <= begin_ns);
  }
};

}  // namespace hone::cli
