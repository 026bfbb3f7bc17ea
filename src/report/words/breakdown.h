// SPDX-License-Identifier: Apache-2.0
// "Where a step goes": the device's time in a few rows that sum to the whole.
#pragma once

#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "analyze/idle.h"
#include "base/known.h"
#include "report/report.h"
#include "report/words/style.h"

namespace hone::report {

struct BreakdownRow {
  std::string id;  // "compute", "comm", "copy", "idle:waiting-for-data", "idle:other", "idle"
  std::string label;
  Tone tone = Tone::kPlain;
  Nanos time_ns = 0;                        // over the whole window
  std::optional<analyze::IdleCause> cause;  // of idle rows that stand for one cause
};

struct Breakdown {
  std::vector<BreakdownRow> rows;  // work first, then idle by size; no empty rows
  Nanos total_ns = 0;              // the rows sum to it
  bool between_steps = false;      // the window also holds time between steps, worth saying
  std::size_t steps = 0;           // steady steps in the window; 0: the whole device span
};

// Idle causes below this share of the whole stand together in one row, when there are several.
inline constexpr double kSmallIdleShare = 0.005;

// Absent when there is no device work.
Known<Breakdown> SplitStep(const Input& input);

// "where a step goes, mean of 4".
std::string BreakdownTitle(const Breakdown& breakdown);

void WriteBreakdown(const Breakdown& breakdown, const Style& style, std::ostream& out);
// The same under another title.
void WriteBreakdown(const Breakdown& breakdown, const std::string& title, const Style& style,
                    std::ostream& out);

}  // namespace hone::report
