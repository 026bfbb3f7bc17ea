// SPDX-License-Identifier: Apache-2.0
// OptimizerSteps: marks of optimizers' steps, and where in them the optimizer itself begins.
#pragma once

#include <vector>

#include "trace/trace.h"

namespace hone::replay {

struct OptimizerStep {
  trace::RowId row = trace::kNoRow;  // the mark, "Optimizer.step#Adam.step"
  Nanos begin_ns = 0;                // from here to the end of the mark is the optimizer's own work
};

// Outermost marks of each thread, in row order. Where step() is given a closure (Lightning, LBFGS,
// SAM), the whole forward and backward pass lies inside the mark; what is the optimizer's own comes
// after it. O(n log marks).
std::vector<OptimizerStep> FindOptimizerSteps(const trace::Trace& trace);

}  // namespace hone::replay
