// SPDX-License-Identifier: Apache-2.0
// The answer of `hone tune`: for a terminal, a pull request, a browser and a program.
#pragma once

#include <ostream>

#include "report/words/style.h"
#include "tune/result.h"

namespace hone::report {

void WriteTuneText(const tune::TuneResult& result, const Style& style, std::ostream& out);
void WriteTuneMarkdown(const tune::TuneResult& result, std::ostream& out);
// One page that needs nothing else; no script.
void WriteTuneHtml(const tune::TuneResult& result, std::ostream& out);
void WriteTuneJson(const tune::TuneResult& result, std::ostream& out);

}  // namespace hone::report
