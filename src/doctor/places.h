// SPDX-License-Identifier: Apache-2.0
// Places: where in the program a host slice stands, in the words of findings.
#pragma once

#include <string>
#include <string_view>

#include "analyze/lineage.h"
#include "analyze/source_frame.h"
#include "doctor/finding.h"
#include "doctor/rule.h"
#include "trace/trace.h"

namespace hone::doctor {

// How often a step: 2 -> "2", 0.25 -> "0.25", 12.5 -> "12.5".
std::string Times(double per_step);
// The same with its noun: "1 copy", "0.25 copies".
std::string Times(double per_step, std::string_view one, std::string_view many = {});

// For rules that fire: built once, O(host rows).
class Places {
 public:
  explicit Places(const Case& the_case);

  // Line in the user's code, outermost operator, thread, step and time of a row of Trace::host.
  Place Of(trace::RowId host_row) const;
  // The frame's text as recorded; "" where the trace has no stacks.
  std::string_view Frame(trace::RowId host_row) const { return sites_.Of(host_row); }
  // Where the user's code called the function of `frame`, one of those around the row, as
  // "train.py:46 (main)"; "": not known.
  std::string CallerOf(trace::RowId host_row, std::string_view frame) const;

 private:
  const Case& case_;
  const analyze::Lineage lineage_;
  const analyze::CallSites sites_;
};

}  // namespace hone::doctor
