// SPDX-License-Identifier: Apache-2.0
// A picture of a benchmark: every run of every arm, and every pair's ratio with the interval.
#pragma once

#include <ostream>

#include "bench/result.h"

namespace hone::report {

// A whole SVG document; text only, no script, readable on light and dark pages.
void WriteBenchSvg(const bench::Benchmark& benchmark, std::ostream& out);

}  // namespace hone::report
