// SPDX-License-Identifier: Apache-2.0
// The first lines of the answer: what ran, the key numbers, how far to trust them.
#pragma once

#include <ostream>

#include "report/report.h"
#include "report/words/style.h"

namespace hone::report {

inline constexpr std::size_t kLabelWidth = 15;  // of the labelled lines of the first screen

// The words of the first two lines: what ran, by what it is known first; the key numbers.
std::vector<std::string> HeadlineParts(const Report& report, const Style& style);
std::vector<std::string> KeyNumberParts(const Report& report);

void WriteHeadline(const Report& report, const Style& style, std::ostream& out);
void WriteKeyNumbers(const Report& report, const Style& style, std::ostream& out);
// Why the trust is not good, with the way out. Nothing when it is.
void WriteTrust(const analyze::TrustFacts& trust, const Style& style, std::ostream& out);

}  // namespace hone::report
