// SPDX-License-Identifier: Apache-2.0
// Which operator allocates.
#pragma once

#include <vector>

#include "analyze/lineage.h"
#include "trace/trace.h"

namespace hone::analyze {

// For each row of Trace::memory, the innermost operator around it on its thread; kNoRow: none.
// O(events + host rows).
std::vector<trace::RowId> OpsAroundMemory(const trace::Trace& trace, const Lineage& lineage);

}  // namespace hone::analyze
