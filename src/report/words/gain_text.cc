// SPDX-License-Identifier: Apache-2.0
#include "report/words/gain_text.h"

#include <fmt/format.h>

#include "base/text.h"

namespace hone::report {

std::string SpeedupText(double speedup) {
  // Small gains need the second digit, large ones lose the first behind the point.
  const int decimals = speedup < 1.095 ? 2 : speedup < 9.95 ? 1 : 0;
  return Fixed(speedup, decimals) + "x";
}

std::string MillisText(double nanos) { return ThreeDigits(nanos / 1e6); }

std::string PerStepText(const replay::Prediction& prediction) {
  return prediction.samples == 1 ? "a step" : "for the samples of a step";
}

std::string LargerStepText(const replay::Prediction& prediction) {
  if (prediction.samples == 1) return "";
  return fmt::format("batch x{:.0f} in {} ms", prediction.samples,
                     MillisText(prediction.larger_step_ns()));
}

std::string RangeText(const replay::Prediction& prediction, const Style& style) {
  const std::string low = MillisText(prediction.low_ns), high = MillisText(prediction.high_ns);
  return low == high ? low : low + std::string(style.dash()) + high;
}

}  // namespace hone::report
