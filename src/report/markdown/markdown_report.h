// SPDX-License-Identifier: Apache-2.0
// The first screen of the answer as Markdown, for a pull request or an issue: the key numbers,
// where a step goes, what to do with the code to type, and how far to trust it.
#pragma once

#include <ostream>

#include "report/report.h"
#include "report/whatif_answer.h"

namespace hone::report {

void WriteMarkdown(const Report& report, std::ostream& out);

// The answers of `hone whatif --fix` and `--list`.
void WriteWhatIfMarkdown(const Report& report, const Known<WhatIfAnswer>& answer,
                         std::ostream& out);
void WriteWhatIfListMarkdown(const Report& report, const Known<WhatIfAnswer>& answer,
                             std::ostream& out);

// "### name · recorder · device": how every document begins.
void WriteMarkdownHeadline(const Report& report, std::ostream& out);

}  // namespace hone::report
