// SPDX-License-Identifier: Apache-2.0
// The sentences about a benchmark that all of its writers share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bench/result.h"

namespace hone::report {

// "1.31x", "1.004x": as many decimals as the difference needs to be seen.
std::string RatioText(double ratio);
// "(1.28–1.34)"; empty when there is no interval. `dash` between both.
std::string IntervalText(const bench::Comparison& comparison, std::string_view dash);
// The first line: "B is faster: 1.31x (1.28–1.34), 10 pairs".
std::string VerdictLine(const bench::Benchmark& benchmark, const bench::Comparison& comparison,
                        std::string_view dash);
// Of the whole benchmark: one of faster, slower, cannot tell, invalid.
std::string VerdictWord(const bench::Comparison& comparison);
// What stands below the verdict: why it is invalid or cannot be told, and what would help. Empty
// for a plain faster or slower.
std::vector<std::string> Reasons(const bench::Benchmark& benchmark,
                                 const bench::Comparison& comparison);
// How it was measured, one sentence each: same work, outliers, cycles, throttling, an early end.
std::vector<std::string> Remarks(const bench::Benchmark& benchmark);

}  // namespace hone::report
