// SPDX-License-Identifier: Apache-2.0
// Middles and spreads of a handful to some hundred thousand numbers. All of them n log n.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace hone::stats {

// Linear between neighbours (type 7 of Hyndman and Fan 1996, the default of R and NumPy). `share`
// 0..1; `values` not empty, in any order.
double Quantile(std::span<const double> values, double share);
double Median(std::span<const double> values);

// Median of the distances to the median; times 1.4826 it is the standard deviation of normal
// numbers.
double MedianAbsoluteDeviation(std::span<const double> values);
inline constexpr double kMadToSigma = 1.4826;

// Far from the rest: further from the median than 10 MADs (Iglewicz and Hoaglin's modified z-score
// at 6.7; hyperfine warns at the same place). With equal values nothing is far. Flagged, never
// dropped. Positions in `values`.
inline constexpr double kFarInMads = 10;
std::vector<std::size_t> FarFromRest(std::span<const double> values);

}  // namespace hone::stats
