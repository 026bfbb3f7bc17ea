// SPDX-License-Identifier: Apache-2.0
// What of the user's code takes the time of a loader's fetches.
#pragma once

#include <string>
#include <vector>

#include "doctor/rule.h"

namespace hone::doctor {

// A function with at least this share of the fetches is worth its name in the title.
inline constexpr double kMostOfFetch = 0.5;

struct SlowFetch {
  std::string source;    // train.py:46 (decode); empty: nothing stands out
  std::string function;  // as its author wrote it
  double share = 0;      // of the fetches' time
  // The step without the function's time, as a factor; 1: not known (workers make the batches).
  double gain = 1;
  std::vector<std::string> evidence;
  trace::RowId example = trace::kNoRow;  // row of Trace::host, where frames are recorded
};

// From samples of stacks, else from recorded frames. Needs LoaderFacts::per_step_ns and a replay.
// Linear.
SlowFetch FindSlowFetch(const Case& the_case);

// Whether Hugging Face's Trainer makes the steps: in samples of their thread, or in its frames.
bool UnderTrainer(const Case& the_case);

}  // namespace hone::doctor
