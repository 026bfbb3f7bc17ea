// SPDX-License-Identifier: Apache-2.0
#include "bench/same_work.h"

#include <fmt/format.h>

namespace hone::bench {

std::vector<std::string> AllowWords() { return {}; }

bool SameWork::valid() const {
  for (const Difference& difference : differences) {
    if (!difference.allowed) return false;
  }
  return true;
}

void CheckSameWork(const Benchmark& benchmark, const CompareOptions& /*options*/,
                   Comparison& result) {
  for (const std::size_t arm : {result.baseline, result.arm}) {
    for (const Run& run : benchmark.arms[arm].runs) {
      if (!run.work.seen) result.work.why_not = run.work.why_not;
    }
  }
}

}  // namespace hone::bench
