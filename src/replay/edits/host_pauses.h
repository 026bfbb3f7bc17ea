// SPDX-License-Identifier: Apache-2.0
// Pauses of the steps' thread: where it is in no operator, call or fetch, and so in somebody's
// code.
#pragma once

#include <cstdint>
#include <vector>

#include "replay/edits/host_cut.h"
#include "replay/model.h"

namespace hone::replay {

// A stretch of the steps' thread that no operator, call or fetch covers.
struct Pause {
  trace::RowId before = trace::kNoRow;  // kNoRow at the beginning of the window
  trace::RowId after = trace::kNoRow;
  trace::Interval span;
  // Operators inside that a line calls in a loop: they count as part of the pause.
  Nanos looped_ns = 0;
  std::uint64_t looped = 0;
};

using HostRowSet = std::vector<std::uint8_t>;  // by host row: 1 for those in it

// Fetching batches and compiling: other rules' business.
HostRowSet OthersBusiness(const Model& model);
// Operators that compute on the host, and all rows inside them: code like the Python around it.
HostRowSet HostComputations(const Model& model);
// Of these inside the cut, one of the name with most time, and the time of all of them.
struct Computation {
  trace::RowId row = trace::kNoRow;  // kNoRow: none
  Nanos all_ns = 0;
};
Computation ComputationIn(const Model& model, const HostCut& cut);

// Operators that one line calls over and over, and all rows inside them: by their own account they
// compute, but what they take is being called. None where there is a device.
HostRowSet CalledInLoops(const Model& model);

// Pauses longer than `least`, in time order, but those that another launching thread fills for the
// most part. What is in `in_loop` counts as pause; empty: not asked for. Linear in host rows.
std::vector<Pause> CollectPauses(const Model& model, Nanos least, const HostRowSet& in_loop);
// Where no frames tell whose code it is: without those that collectives on the host fill, which are
// exposed-comm's and straggler's business.
std::vector<Pause> PausesWithoutFrames(const Model& model, Nanos least, const HostRowSet& in_loop);

}  // namespace hone::replay
