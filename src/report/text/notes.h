// SPDX-License-Identifier: Apache-2.0
// The lines below the breakdown: what else is worth knowing, each under a short label, and what is
// not in the trace.
#pragma once

#include <string>
#include <vector>

#include "report/report.h"
#include "report/words/style.h"

namespace hone::report {

struct Note {
  std::string label;
  std::string text;
};

// In the order to be read. Nothing for what is absent or not worth a line.
std::vector<Note> CollectNotes(const Report& report, const Style& style);

// What the trace cannot give, one line a reason: "memory: profile_memory was off".
std::vector<Note> AbsentSections(const Report& report, const Style& style);

}  // namespace hone::report
