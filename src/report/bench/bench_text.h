// SPDX-License-Identifier: Apache-2.0
// The answer of `hone bench` for people: in a terminal and in a pull request.
#pragma once

#include <ostream>

#include "bench/result.h"
#include "report/words/style.h"

namespace hone::report {

void WriteBenchMarkdown(const bench::Benchmark& benchmark, std::ostream& out);
void WriteBenchText(const bench::Benchmark& benchmark, const Style& style, std::ostream& out);

}  // namespace hone::report
