// SPDX-License-Identifier: Apache-2.0
// Counters of the machine in the steady steps, by the names that docs/user/run.md lists.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/known.h"
#include "trace/interval.h"
#include "trace/trace.h"

namespace hone::analyze {

struct CounterSeries {
  double sum = 0, first = 0, last = 0;
  std::uint64_t count = 0;  // 0: not in this trace
  double mean() const { return count == 0 ? 0 : sum / static_cast<double>(count); }
};

// O(counters).
CounterSeries ReadCounter(const trace::Trace& trace, trace::Interval window, std::string_view name);

// How many cores the recorded program itself asked for, from the counters of its processes.
struct OwnDemand {
  double running = 0, waiting = 0;  // cores, and threads that wanted one and got none
  bool complete = true;             // false: not all threads were looked at, so it may be more
  // Threads that were not looked at. Each wants one core at most.
  Known<double> unread = Known<double>::Absent("the processes' threads are not counted");
  double wanted() const { return running + waiting; }
};
// O(counters).
Known<OwnDemand> ReadOwnDemand(const trace::Trace& trace, trace::Interval window);

// The thread that makes the steps, and all threads of its process that were looked at.
struct StepDemand {
  double running = 0, waiting = 0;  // shares of the time: on a core, ready but without one
  double process_wanted = 0;        // cores that the process's threads asked for, at least
};
// O(counters). `pid` and `tid` are the system's numbers.
Known<StepDemand> ReadStepDemand(const trace::Trace& trace, trace::Interval window,
                                 std::int64_t pid, std::int64_t tid);

// Who of the program computes in operators, as far as its processes and threads tell.
struct ComputeDemand {
  std::size_t processes = 0;  // that use the cores: a launcher that only waits is none
  bool pools = false;         // one of them has threads beside its first one that share its work
  bool complete = true;       // false: not all threads were looked at, and one may be of a pool
};
// O(counters).
Known<ComputeDemand> ReadComputeDemand(const trace::Trace& trace, trace::Interval window);

}  // namespace hone::analyze
