// SPDX-License-Identifier: Apache-2.0
#include "report/text/gain_text.h"

#include "base/text.h"

namespace hone::report {

std::string SpeedupText(double speedup) {
  // Small gains need the second digit, large ones lose the first behind the point.
  const int decimals = speedup < 1.095 ? 2 : speedup < 9.95 ? 1 : 0;
  return Fixed(speedup, decimals) + "x";
}

std::string MillisText(double nanos) { return ThreeDigits(nanos / 1e6); }

std::string RangeText(const replay::Prediction& prediction, const Style& style) {
  return MillisText(prediction.low_ns) + std::string(style.dash()) + MillisText(prediction.high_ns);
}

}  // namespace hone::report
