// SPDX-License-Identifier: Apache-2.0
// What of a collective is surely transfer, where the traces of its other ranks are not there to say
// when the last one came.
#pragma once

#include <vector>

#include "analyze/comm.h"

namespace hone::analyze {

// By run: an upper bound of the time that its bytes need, from runs of the same kind and group: a
// message needs no longer than one that is as large or larger took, and no longer than several
// smaller ones one after another. What it took beyond that it waited, or shared the links. Runs of
// unknown size are bounded by the shortest of unknown size. Never above the run's own duration.
// O(n log n).
std::vector<Nanos> BoundTransfers(const CommFacts& comm);

}  // namespace hone::analyze
