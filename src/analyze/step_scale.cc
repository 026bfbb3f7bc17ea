// SPDX-License-Identifier: Apache-2.0
#include "analyze/step_scale.h"

#include <algorithm>

namespace hone::analyze {
namespace {

// The first step's launches and the last one's tail lie outside as a rule.
constexpr double kWholeTrace = 0.9;
// Half a percent of the time that the steps, or else the device work, span.
constexpr Nanos kNotableParts = 200;

}  // namespace

StepScale MeasureScale(const Steps& steps, const Known<Timeline>& timeline) {
  Nanos inside = 0;
  for (const Step& step : steps.steps) inside += step.span.length();
  const Nanos span = timeline ? timeline->main_device().whole.total_ns : inside;
  StepScale scale;
  if (span > 0 && static_cast<double>(inside) >= kWholeTrace * static_cast<double>(span)) {
    scale.steps = steps.steps.size();
  }
  scale.least_ns = std::max<Nanos>((inside > 0 ? inside : timeline ? span : 0) / kNotableParts, 1);
  return scale;
}

}  // namespace hone::analyze
