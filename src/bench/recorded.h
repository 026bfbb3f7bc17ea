// SPDX-License-Identifier: Apache-2.0
// Comparisons of runs that were recorded before: of files, or of a file and what was measured now.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "bench/compare.h"
#include "bench/result.h"

namespace hone::bench {

// The same runs by another number. `whose`: the file, for the sentence when a run does not have it.
Status UseMetric(Benchmark& benchmark, const Metric& metric, const std::string& whose);

// The first arm of `saved` as A, what was measured now as B. They did not take turns.
Benchmark Against(const Benchmark& saved, Benchmark measured, const CompareOptions& options);

struct Recording {
  std::string path;
  Benchmark benchmark;
};
// One file with several arms, or several with one arm each, in the order given. There is at least
// one.
Result<Benchmark> Together(std::vector<Recording> recordings, const CompareOptions& options);

}  // namespace hone::bench
