// SPDX-License-Identifier: Apache-2.0
// How sums over the whole trace are to be read.
#pragma once

#include <cstddef>

#include "analyze/steps.h"
#include "analyze/timeline.h"

namespace hone::analyze {

struct StepScale {
  // How many steps such a sum is of: divided by it, it is told per step. 0: much of the trace lies
  // outside its steps.
  std::size_t steps = 0;
  // What takes less altogether is no one's problem.
  Nanos least_ns = 1;
};

StepScale MeasureScale(const Steps& steps, const Known<Timeline>& timeline);

}  // namespace hone::analyze
