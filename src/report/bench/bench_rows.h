// SPDX-License-Identifier: Apache-2.0
// The table of a benchmark: one row a number, one column an arm.
#pragma once

#include <string>
#include <vector>

#include "bench/result.h"

namespace hone::report {

struct BenchRow {
  std::string label;
  std::vector<std::string> cells;  // one an arm; "-" where an arm has none
  std::string note;
};

// Rows that no arm has are left out.
std::vector<BenchRow> BenchRows(const bench::Benchmark& benchmark);

// "python train.py --fast"
std::string CommandText(const bench::Arm& arm);

}  // namespace hone::report
