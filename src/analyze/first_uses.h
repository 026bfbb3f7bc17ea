// SPDX-License-Identifier: Apache-2.0
// Kernels that are loaded when they are first used: the launch call takes milliseconds, once.
#pragma once

#include <vector>

#include "analyze/api_class.h"
#include "base/units.h"
#include "trace/trace.h"

namespace hone::analyze {

struct FirstUse {
  trace::RowId call = trace::kNoRow;  // row of Trace::host
  Nanos loading_ns = 0;               // beyond the median launch
};

// In the order of the device's work. A launch of a kernel whose name the trace has not had before
// counts when it takes 1 ms and 50 times the median launch, and the kernel begins behind it on a
// stream that had nothing to run: a full queue, which holds launches up as well, is never empty.
// O(host + device rows).
std::vector<FirstUse> FindFirstUses(const trace::Trace& trace, const ApiCalls& calls);

}  // namespace hone::analyze
