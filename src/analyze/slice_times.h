// SPDX-License-Identifier: Apache-2.0
// Times of single host slices that the tables add up. One value a row of Trace::host.
#pragma once

#include <vector>

#include "analyze/lineage.h"
#include "trace/trace.h"

namespace hone::analyze {

// Own time of each row: its duration minus the nearest slices inside it, which are
//   for an operator or an API call: operators and API calls (annotations are only a frame around
//   them), for an annotation: operators, API calls and annotations.
// What sticks out of the row (crossing slices) is not subtracted from it. Other kinds keep their
// whole duration. O(n).
std::vector<Nanos> SelfTimes(const trace::Trace& trace);

// Time of the device work launched by each row and below it. O(n): one pass from the leaves up.
std::vector<Nanos> DeviceTotals(const trace::Trace& trace, const Lineage& lineage);

}  // namespace hone::analyze
