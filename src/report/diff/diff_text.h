// SPDX-License-Identifier: Apache-2.0
// `hone diff` for people: faster or slower, by how much, whether it is noise, and what did it.
#pragma once

#include <cstddef>
#include <ostream>

#include "report/diff/diff_report.h"
#include "report/words/style.h"

namespace hone::report {

struct DiffTextOptions {
  Style style;
  bool all = false;        // every table, not only the first screen
  std::size_t limit = 20;  // rows of each table then; 0: all
};

// No line is wider than options.style.width (at least kLeastWidth), whatever names the traces hold.
void WriteDiffText(const DiffReport& report, const DiffTextOptions& options, std::ostream& out);

}  // namespace hone::report
