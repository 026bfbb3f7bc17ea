// SPDX-License-Identifier: Apache-2.0
// Moments at which the loader's workers are started anew: shared by the edit and the rule.
#pragma once

#include <vector>

#include "replay/model.h"
#include "trace/interval.h"

namespace hone::replay {

struct WorkerRestart {
  trace::RowId fetch = trace::kNoRow;    // the first fetch from the new workers
  trace::RowId closing = trace::kNoRow;  // the fetch that found the old ones done and ended them
  trace::RowId frame = trace::kNoRow;    // the Python frame that started them, with stacks
  trace::Interval pause;                 // before the fetch: processes are started
};

struct WorkerRestarts {
  std::vector<WorkerRestart> restarts;  // in time order
  Nanos median_fetch_ns = 0;            // of all fetches
};

// From the first to the last batch of each worker's process, by beginning. Our own recorder follows
// workers; other traces have none. O(rows).
std::vector<trace::Interval> WorkerSpans(const Model& model);

// Of the thread that makes the steps, inside `span`. Linear in the trace's rows.
WorkerRestarts FindRestarts(const Model& model, trace::Interval span);
// What one costs: the pause, and the two fetches beside it.
Nanos LengthOf(const Model& model, const WorkerRestart& restart);

}  // namespace hone::replay
