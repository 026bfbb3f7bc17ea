// SPDX-License-Identifier: Apache-2.0
#include "doctor/busiest_line.h"

#include <algorithm>

namespace hone::doctor {
namespace {

// Fewer samples could be anywhere; a line with less than a fifth is one of many.
constexpr std::uint64_t kLeastSamples = 5;
constexpr double kLeastShare = 0.2;

}  // namespace

std::optional<BusiestLine> FindBusiestLine(const analyze::Facts& facts,
                                           const std::vector<Finding>& findings) {
  if (facts.timeline || !facts.python) return std::nullopt;
  const bool gain = std::any_of(findings.begin(), findings.end(), [](const Finding& finding) {
    return IsAdvice(finding) && finding.predicted;
  });
  const analyze::PythonFacts& python = *facts.python;
  if (gain || python.busiest_samples < kLeastSamples) return std::nullopt;
  const double share =
      static_cast<double>(python.busiest_samples) / static_cast<double>(python.running_samples);
  if (share < kLeastShare) return std::nullopt;
  return BusiestLine{python.busiest_line, share};
}

}  // namespace hone::doctor
