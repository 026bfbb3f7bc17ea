// SPDX-License-Identifier: Apache-2.0
// The answer of `hone bench` for people.
#pragma once

#include <ostream>

#include "bench/result.h"
#include "report/text/style.h"

namespace hone::report {

void WriteBenchText(const bench::Benchmark& benchmark, const Style& style, std::ostream& out);

}  // namespace hone::report
