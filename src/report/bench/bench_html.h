// SPDX-License-Identifier: Apache-2.0
// The answer of `hone bench` as one page that needs nothing else; no script.
#pragma once

#include <ostream>

#include "bench/result.h"

namespace hone::report {

// The verdict, the picture and the table.
void WriteBenchHtml(const bench::Benchmark& benchmark, std::ostream& out);

}  // namespace hone::report
