// SPDX-License-Identifier: Apache-2.0
// A benchmark as a JSON file: what --json prints and --save writes is what can be read back.
// Schema: docs/user/bench.md.
#pragma once

#include <ostream>
#include <string>

#include "base/result.h"
#include "bench/result.h"

namespace hone::bench {

void WriteBenchJson(const Benchmark& benchmark, std::ostream& out);

// Metric, arms and their runs; comparisons are made anew. The error names the file.
Result<Benchmark> ReadBenchJson(const std::string& path);

}  // namespace hone::bench
