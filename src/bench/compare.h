// SPDX-License-Identifier: Apache-2.0
// From runs to comparisons: pairs, looks, cycles, same work.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "bench/result.h"

namespace hone::bench {

struct CompareOptions {
  double minimum_effect = stats::kMinimumEffect;
  std::set<std::string> allow;  // words of --allow
};

// The value of the metric in this run, or why there is none.
Known<double> ValueOf(const Run& run, const Metric& metric);

// Arm number `arm` against the first, over the pairs that both have. `looks` were planned; those
// that are reached are taken in order, up to the first that decides. When the pairs end between
// looks, there is one more with the alpha that is left.
Comparison Compare(const Benchmark& benchmark, std::size_t arm,
                   const std::vector<stats::Look>& looks, const CompareOptions& options);

// All of them, into benchmark.comparisons.
void CompareAll(Benchmark& benchmark, const std::vector<stats::Look>& looks,
                const CompareOptions& options);

}  // namespace hone::bench
