// SPDX-License-Identifier: Apache-2.0
// Where a step goes: the time of the main device in parts that sum to the whole. One account for
// every answer that says so.
#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include "analyze/facts.h"
#include "analyze/idle.h"
#include "base/known.h"
#include "trace/interval.h"

namespace hone::analyze {

enum class StepPartKind : std::uint8_t { kCompute, kCommunication, kCopy, kIdle };

struct StepPart {
  StepPartKind kind = StepPartKind::kIdle;
  std::optional<IdleCause> cause;  // of idle parts, where causes are known
  Nanos time_ns = 0;               // over the whole window; may be 0
};
// Work first: compute, communication and copies that nothing hides; then idle by cause, in the
// order of IdleCause; then idle without a cause. Always all of them.
inline constexpr std::size_t kStepPartCount = 3 + kIdleCauseCount + 1;

struct StepSplit {
  std::array<StepPart, kStepPartCount> parts;  // sum to total_ns
  trace::IntervalSet window;
  Nanos total_ns = 0, busy_ns = 0;
  std::size_t steps = 0;       // steady steps in the window; 0: the whole device span
  bool between_steps = false;  // the window also holds time between steps, worth saying
};

enum class StepWindow : std::uint8_t {
  kSteady,  // the steady steps, where there are any
  kWhole,   // from the first to the last work of the device
};

// Absent when there is no device work.
Known<StepSplit> SplitStep(const Facts& facts, StepWindow window = StepWindow::kSteady);

}  // namespace hone::analyze
