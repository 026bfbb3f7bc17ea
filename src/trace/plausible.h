// SPDX-License-Identifier: Apache-2.0
// Times that cannot be true: found, counted as losses and kept out of every sum. Internal to
// trace::Finish.
#pragma once

#include "trace/trace.h"

namespace hone::trace {

// Leaves out host slices and device work that lie far away from all others, before sorting. Linear.
void DropFarTimes(Trace& trace);

// Device work that is longer than everything else together becomes a moment; a host slice that ends
// long after everything else ends with it. Not where others saw it, too: slices that end together,
// work that the host waits for. Linear but for such rows, in any order of rows.
void CutImplausible(Trace& trace);

// Counts device work that starts before its launching call. After linking.
void CountEarlyStarts(Trace& trace);

}  // namespace hone::trace
