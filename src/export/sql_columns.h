// SPDX-License-Identifier: Apache-2.0
// Columns that no recorder writes: worked out for all rows of a table in one pass.
#pragma once

#include <vector>

#include "analyze/lineage.h"
#include "export/sql_rank.h"
#include "trace/trace.h"

namespace hone::exporter {

// All O(rows); MakeForward sorts where several threads run forward operators.
SliceTimes MakeSliceTimes(const trace::Trace& trace, const analyze::Lineage& lineage);
SliceCalls MakeSliceCalls(const trace::Trace& trace, const analyze::Lineage& lineage);
std::vector<trace::RowId> MakeForward(const trace::Trace& trace);
MemoryRows MakeMemoryRows(const trace::Trace& trace, const analyze::Lineage& lineage);

}  // namespace hone::exporter
