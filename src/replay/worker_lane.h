// SPDX-License-Identifier: Apache-2.0
// The loader's workers as a lane of their own: batches come no faster than they make them.
#pragma once

#include "replay/draft.h"
#include "replay/edit.h"
#include "trace/interval.h"

namespace hone::replay {

// What taking a ready batch from a worker costs the main thread. Measured with a ready queue: 0.1
// ms pinned, up to 1 ms for a batch of 40 MB that the main thread still has to map.
inline constexpr Range3 kReadyFetchNs = {1.0e6, 0.4e6, 0.1e6};

// When the median fetch takes longer than a ready batch, and this share of the time between two
// fetches or more, the workers set the pace; below it their speed cannot be seen. A few long waits
// (an epoch's end) do not count.
inline constexpr double kWorkersSetPace = 0.05;

// What the workers make, where their processes are recorded: at a moment at which some are there
// and none makes a batch, all that were asked for are ready, and a fetch only takes one.
class IdleWorkers {
 public:
  // `thread`: that of the steps. O(host rows).
  IdleWorkers(const trace::Trace& trace, std::uint32_t thread);
  bool At(Nanos time) const;  // O(log fetches)

 private:
  trace::IntervalSet making_, there_;
};

// After the host's lanes. Only for loaders with workers: a loader in the process itself is host
// code like any other.
void AddWorkerLane(const GraphInput& input, Draft& draft);

}  // namespace hone::replay
