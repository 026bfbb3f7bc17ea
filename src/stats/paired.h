// SPDX-License-Identifier: Apache-2.0
// How much faster, from pairs of runs: the middle ratio and an interval around it.
//
// Everything is computed on logarithms of ratios: twice as fast and half as fast are then equally
// far from "no difference", and A against B is exactly the inverse of B against A.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace hone::stats {

// Median of the means of all pairs of values, each value with itself too (Hodges and Lehmann 1963):
// as sharp as the mean on normal noise (96 %), and one wild value of twenty does not move it. n²/2.
double HodgesLehmann(std::span<const double> values);

struct Interval {
  double low = 0, high = 0;
  bool Holds(double value) const { return low <= value && value <= high; }
};

// What was taken out of the values before: an interval must be wider for it.
struct Sample {
  std::vector<double> values;
  int fitted = 0;  // effects estimated from the values besides their middle
};

// Values of pairs that ran in turns, A first (`a_first`) or B first. The run that comes second in a
// pair may be slower or faster by itself (a warm page cache, a hot chip). That is no noise: taken
// for noise it would hide real differences (megaeth-labs/mega-evm#327). Half of the difference
// between the two orders' Hodges-Lehmann estimates is taken off each pair; means would let one wild
// pair move half of the others. Fewer than four pairs, or all of them in one order: as they are.
Sample WithoutSlotEffect(std::span<const double> values, std::span<const bool> a_first);

// Student's t around the mean. Needs two values more than fitted effects.
Interval StudentInterval(const Sample& sample, double alpha);

// Percentile bootstrap of the Hodges-Lehmann estimate over whole values (here: pairs; steps inside
// a run hang together and would make the interval far too narrow). The plain percentile interval
// is too short for few values: it is sqrt((n-1)/n) of what it should be and uses normal instead of
// t quantiles. Expanded as Hesterberg does (2015, "What teachers should know about the bootstrap",
// section 4.4): tails of Phi(-sqrt(n/(n-1)) t) instead of alpha/2.
// Deterministic: the same values, alpha and seed give the same interval, on every machine.
inline constexpr int kResamples = 4000;  // the third look's tail of 0.4 % holds 16 of them
inline constexpr std::uint64_t kSeed = 20150401;
Interval BootstrapInterval(const Sample& sample, double alpha, int resamples = kResamples,
                           std::uint64_t seed = kSeed);

// From the lower of both low ends to the higher of both high ends. The bootstrap cannot look beyond
// the values it has (five of them: never below the least), Student's t does not see skewness; where
// one is too short the other is not. Holds the Hodges-Lehmann estimate. About 10 ms for 20 pairs.
Interval PairedInterval(const Sample& log_ratios, double alpha, int resamples = kResamples);

}  // namespace hone::stats
