// SPDX-License-Identifier: Apache-2.0
// Which host slice each end of a forward→backward arrow lies in. Formats that tie arrows to slices
// need it; the trace keeps a thread and a time.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/trace.h"

namespace hone::exporter {

struct FlowEnd {
  trace::RowId slice = trace::kNoRow;
  std::int64_t id = 0;
  bool finish = false;
};

// Sorted by slice; ends outside any slice are left out. The outermost operator that starts at that
// very moment, which is what the profiler means; else the innermost slice around it.
// O(n log n) in arrows, linear in slices.
std::vector<FlowEnd> FindFlowEnds(const trace::Trace& trace);

}  // namespace hone::exporter
