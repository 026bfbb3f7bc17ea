// SPDX-License-Identifier: Apache-2.0
// Nesting of host slices where they cross.
#pragma once

#include <vector>

#include "trace/trace.h"

namespace hone::analyze {

// For trees over host slices, `nearest` by row: the nearest slice that counts, around it or itself.
// What the parent of `row` hands on, and still runs: slices that cross the end of the one around
// them have parents that ended before their children begin. To be asked in the order of rows;
// shortens the way for those that follow.
trace::RowId StillOpen(const trace::HostSlices& host, std::vector<trace::RowId>& nearest,
                       trace::RowId row);
// A slice that outlives the one around it takes no more than that one has.
Nanos TimeInside(const trace::HostSlices& host, trace::RowId row, trace::RowId around);

}  // namespace hone::analyze
