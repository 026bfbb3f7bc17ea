// SPDX-License-Identifier: Apache-2.0
// Where steps come from, best source first. Each finder returns the raw steps in time order, not
// overlapping; empty: this source has none. Internal to analyze/steps.cc.
#pragma once

#include <vector>

#include "analyze/steps.h"

namespace hone::analyze {

// From one call of hone.step() to the next.
std::vector<Step> StepsFromMarks(const trace::Trace& trace);

// ProfilerStep#N, else labels such as "step 12", "iteration_7", "train_step_4".
std::vector<Step> StepsFromLabels(const trace::Trace& trace, EnclosingMarks& enclosing);

// From the end of one optimizer step to the end of the next.
std::vector<Step> StepsFromOptimizer(const trace::Trace& trace);

// A sequence of device work (or, without device work, of outermost operators) that repeats at
// least three times and covers at least 60 % of the device (operator) time.
std::vector<Step> StepsFromDevicePattern(const trace::Trace& trace);
std::vector<Step> StepsFromOpPattern(const trace::Trace& trace);

// Sets Step::before and leaves out steps that hold a hole: where numbers of marks jump, and where
// nothing was recorded for much of the time. Linear in rows.
std::vector<StepHole> FindHoles(const trace::Trace& trace, StepSource source,
                                std::vector<Step>& steps);

// For steps that the host marked: where it runs ahead of the device, sets their spans to when the
// device worked on them and returns true. Sets host_span either way. O(work · log steps).
bool MoveToDeviceClock(const trace::Trace& trace, std::vector<Step>& steps);

// The number of a step label, and the text before it; false when `name` is none.
struct StepLabel {
  std::string_view family;
  std::int64_t number = -1;
};
bool ParseStepLabel(std::string_view name, StepLabel& label);

}  // namespace hone::analyze
