// SPDX-License-Identifier: Apache-2.0
// The answer to `hone diff` as a comment on a pull request.
#pragma once

#include <cstddef>
#include <ostream>

#include "report/diff/diff_report.h"

namespace hone::report {

// `limit`: rows of the folded tables of operators and kernels; 0: all.
void WriteDiffMarkdown(const DiffReport& report, std::size_t limit, std::ostream& out);

}  // namespace hone::report
