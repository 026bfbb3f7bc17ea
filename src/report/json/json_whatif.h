// SPDX-License-Identifier: Apache-2.0
// The answer to `hone whatif` as JSON. Schema: docs/user/whatif.md.
#pragma once

#include <ostream>

#include "base/known.h"
#include "report/report.h"
#include "report/whatif_answer.h"

namespace hone::report {

void WriteWhatIfJson(const Report& report, const Known<WhatIfAnswer>& answer, std::ostream& out);

}  // namespace hone::report
