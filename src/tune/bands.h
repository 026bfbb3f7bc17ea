// SPDX-License-Identifier: Apache-2.0
// The band of the program's own loss curves, and whether another curve lies inside.
#pragma once

#include <string>
#include <vector>

#include "tune/trajectory.h"
#include "tune/trial.h"

namespace hone::tune {

using Curves = std::vector<std::vector<double>>;

// The program's own runs at the steps that all have, and what may lie between them.
struct Bands {
  Curves same, other;
  std::vector<double> middle;     // of the same-seed runs
  std::vector<double> scale;      // what relative errors are relative to
  std::vector<double> same_gap;   // the largest difference of same-seed runs so far
  std::vector<double> other_gap;  // of other seeds to the middle, around here
};

Bands MakeBands(const std::vector<Trial>& same, const std::vector<Trial>& other, std::size_t steps);

// Why the curve is not that of the program; empty: it is. `drawn_anew`: its samples were drawn by
// other random numbers, so that its path is another seed's.
std::string CompareCurves(const Bands& bands, const Windows& treated, Risk risk, bool drawn_anew);

}  // namespace hone::tune
