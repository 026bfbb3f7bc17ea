// SPDX-License-Identifier: Apache-2.0
// Where in a thread's work memory is allocated and freed.
#pragma once

#include <vector>

#include "trace/trace.h"

namespace hone::analyze {

// For each row of Trace::memory, the innermost host slice around it on its thread; kNoRow: none.
// O(events + host rows).
std::vector<trace::RowId> SlicesAroundMemory(const trace::Trace& trace);

}  // namespace hone::analyze
