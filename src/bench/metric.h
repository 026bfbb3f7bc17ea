// SPDX-License-Identifier: Apache-2.0
// Metric: the one number of a run that is compared.
#pragma once

#include <string>

#include "base/result.h"

namespace hone::bench {

enum class MetricKind { kWall, kStep, kSamples, kMemory, kEnergy, kRegex };

struct Metric {
  MetricKind kind = MetricKind::kWall;
  std::string name = "wall";  // as given to --metric
  std::string pattern;        // of kRegex
  bool higher_is_better = false;

  bool NeedsSteps() const { return kind == MetricKind::kStep || kind == MetricKind::kSamples; }
  // Work done in a whole run counts, not a rate: arms must do equally much of it.
  bool WholeRun() const { return !NeedsSteps() && kind != MetricKind::kRegex; }
  std::string Title() const;             // "wall time"
  std::string Show(double value) const;  // "1.234 s"
  std::string Better() const;            // "faster", "smaller", "better"
  std::string Worse() const;             // "slower", "larger", "worse"
};

// "wall", "step", "samples", "memory", "energy", "regex:PATTERN" (ECMAScript; its first group, or
// all of it, is the number; the last match counts).
Result<Metric> ParseMetric(const std::string& text, bool higher_is_better);

// The number in a program's output. The error names the pattern.
Result<double> FindNumber(const Metric& metric, const std::string& output);

}  // namespace hone::bench
