// SPDX-License-Identifier: Apache-2.0
// Conditions under which a comparison fails: --fail-if slower=3%,memory=512MiB.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "diff/diff.h"

namespace hone::diff {

enum class Metric : std::uint8_t {
  kSlower,    // the step that diff leads with
  kMemory,    // peak allocated
  kReserved,  // peak reserved
  kKernels,   // a step
  kLaunches,  // launch calls a step
};

struct Condition {
  std::string text;  // as given: "slower=3%"
  Metric metric = Metric::kSlower;
  bool relative = true;
  double amount = 0;  // a share where relative; else nanoseconds, bytes or a count
};

// "WHAT=AMOUNT[,WHAT=AMOUNT...]". The error names the word and what was probably meant.
Result<std::vector<Condition>> ParseConditions(std::string_view text);

enum class GateState : std::uint8_t { kPassed, kFailed, kUnknown };
const char* GateStateName(GateState state);

struct GateResult {
  Condition condition;
  GateState state = GateState::kUnknown;
  std::string why;  // one clause with both numbers, ASCII
};

// Failed: grown by more than the amount; for the step also by more than the noise.
GateResult Judge(const Condition& condition, const Diff& diff);

}  // namespace hone::diff
