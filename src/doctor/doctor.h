// SPDX-License-Identifier: Apache-2.0
// The doctor: runs every rule, predicts what each finding gives back, merges faces of one cause and
// ranks what is left. docs/user/findings.md says how.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/comm.h"
#include "analyze/facts.h"
#include "doctor/busiest_kernel.h"
#include "doctor/busiest_line.h"
#include "doctor/finding.h"
#include "replay/critical_path.h"
#include "replay/path_parts.h"
#include "replay/whatif.h"
#include "trace/trace.h"

namespace hone::doctor {

struct NotChecked {
  std::string id;   // of the rule
  std::string why;  // what is missing, and the way out
};

// What the replay says about the step itself.
struct ReplayFacts {
  double measured_ns = 0, replayed_ns = 0;   // a step
  double error = 0;                          // replayed / measured − 1
  std::size_t steps = 0, all_steps = 0;      // replayed, steady
  replay::Prediction bare;                   // without the recorder
  std::int64_t timed_steps = 0;              // that it was learnt from; 0: computed
  replay::CriticalPath path;                 // as measured
  std::vector<replay::PathPart> path_parts;  // the same by name, largest first
  Known<replay::Prediction> together;        // with every finding's fix; absent: none has a model
  Known<replay::Prediction> half;            // under autocast on top; absent: not offered
  std::string_view half_dtype = "bfloat16";  // torch's word for its 16 bits
};

struct Diagnosis {
  std::vector<Finding> findings;  // best first
  std::vector<NotChecked> not_checked;
  std::size_t rules = 0;  // looked at
  Known<ReplayFacts> replay;
  std::optional<BusiestLine> busiest;           // where no finding says what there is to gain
  std::optional<BusiestKernel> busiest_kernel;  // that no finding is about
};

// Pure. `skew` may be null.
Diagnosis Diagnose(const trace::Trace& trace, const analyze::Facts& facts,
                   const analyze::SkewFacts* skew = nullptr);

}  // namespace hone::doctor
