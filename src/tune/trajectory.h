// SPDX-License-Identifier: Apache-2.0
// Loss curves side by side: smoothed over windows, and how far apart they lie.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tune/trial.h"

namespace hone::tune {

// Means over windows of steps. NaN: no finite loss in the window, or the run ended before its end.
struct Windows {
  std::vector<double> means;
  std::vector<std::int64_t> last_step;  // of each window, from 1
};
// Of the first `steps` losses; windows of five steps at least, twenty windows at most.
Windows Smooth(const std::vector<double>& losses, std::size_t steps);

std::size_t NotFinite(const std::vector<double>& losses, std::size_t steps);

// The straight line through differences over time: what they change from the first window to the
// last, and how many of its standard errors that is.
struct Drift {
  double change = 0, in_errors = 0;
};
Drift DriftOf(const std::vector<double>& differences);

}  // namespace hone::tune
