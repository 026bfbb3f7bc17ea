// SPDX-License-Identifier: Apache-2.0
// What to do about data that a trace does not have: each recorder is asked in its own words.
#pragma once

#include <cstdint>
#include <string>

#include "base/loss.h"
#include "trace/trace.h"

namespace hone::trace {

enum class Lacking : std::uint8_t {
  kDevice,
  kOperators,
  kShapes,
  kStacks,
  kMemory,
  kSteps,
  kGrids,
  kCalls,   // the host's side of device work: its operators and launching calls
  kWarmUp,  // steps that ran before the recorded ones
  kStall    // what the program did where nothing was recorded
};

// What a recording that ended too early asks for.
std::string RecordSteps(const TraceInfo& info, std::uint64_t steps);  // that many steady steps
const char* RecordEpochEnd(const TraceInfo& info);

// The clause that ends a sentence about what is missing: "record with with_stack=True".
const char* RecordAgain(const TraceInfo& info, Lacking what);

// The way out of a loss: Describe(kind).help, or what this recorder in particular can do about it.
const char* LossHelp(const TraceInfo& info, LossKind kind);

}  // namespace hone::trace
