// SPDX-License-Identifier: Apache-2.0
// Whether the steps of two recordings differ by more than steps and runs differ by themselves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/known.h"
#include "base/units.h"

namespace hone::diff {

enum class Verdict : std::uint8_t {
  kFaster,
  kSlower,
  kWithinNoise,  // no difference that the noise would not give by itself
  kUnsure,       // too few steps to know the noise, or too much of it (with a range)
};
const char* VerdictName(Verdict verdict);  // "within-noise"

// 95 % interval of after − before.
struct DifferenceRange {
  Nanos low_ns = 0, high_ns = 0;
};

struct StepChange {
  std::size_t before_steps = 0, after_steps = 0;  // steady ones
  // Whether the means are compared: on a side the median does not speak for them, or jumps from one
  // recording to the next.
  bool by_mean = false;
  Nanos before_ns = 0, after_ns = 0;  // what is compared: medians, or means
  Nanos before_median_ns = 0, after_median_ns = 0;
  Known<DifferenceRange> range;  // of what is compared; absent: why the noise is not known
  Verdict verdict = Verdict::kUnsure;
  Nanos delta_ns() const { return after_ns - before_ns; }
};

// Fewer steady steps say nothing about their own spread.
inline constexpr std::size_t kLeastSteps = 3;
// By which medians of quiet runs of one program on one machine differ: steps of one recording
// cannot show it. The same figure as replay::WhatIf's least spread.
inline constexpr double kRunSpread = 0.015;

// Lengths of the steady steps in time order; none may be empty. Deterministic, and turned round
// exactly when the sides are swapped. O(steps · resamples), at most some ten million draws (four
// times as many where means are compared).
StepChange CompareSteps(std::span<const Nanos> before, std::span<const Nanos> after);

}  // namespace hone::diff
