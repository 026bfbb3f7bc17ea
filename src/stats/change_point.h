// SPDX-License-Identifier: Apache-2.0
// Where a series of step times settles.
#pragma once

#include <cstddef>
#include <span>

namespace hone::stats {

// Pettitt's test (1979) for one change of level, by ranks, so that a single slow step is none.
struct ChangePoint {
  std::size_t at = 0;  // the first value after the change
  double p = 1;        // how likely without any change; approximate, good below 0.5
};
ChangePoint FindChange(std::span<const double> values);

// The first value from which on the series has settled downwards: as long as the test finds a
// change (p < 1 %) after which the median is lower by more than 2 %, what stands before it is
// warm-up. Slower later is no warm-up (a chip that heats up) and stays in. At most half of the
// values are given away: a series that never settles is measured as it is. `least` values are given
// away whatever they are, unless that is over half. n log n, a few times over.
std::size_t SettledFrom(std::span<const double> values, std::size_t least);

}  // namespace hone::stats
