// SPDX-License-Identifier: Apache-2.0
// The answer to `hone diff` as JSON. Schema: docs/user/diff.md.
#pragma once

#include <optional>
#include <ostream>

#include "report/diff/diff_report.h"

namespace hone::report {

// `limit`: rows of ops and kernels; unset: all.
void WriteDiffJson(const DiffReport& report, std::optional<std::size_t> limit, std::ostream& out);

}  // namespace hone::report
