// SPDX-License-Identifier: Apache-2.0
// Predictions in words: speed-ups, step times and their ranges.
#pragma once

#include <string>

#include "replay/whatif.h"
#include "report/words/style.h"

namespace hone::report {

// "1.03x", "1.9x", "12x".
std::string SpeedupText(double speedup);
// Three digits in milliseconds, without the unit: "0.850", "28.4", "191".
std::string MillisText(double nanos);
// "a step", or "for the samples of a step" where the batch is another.
std::string PerStepText(const replay::Prediction& prediction);
// "batch x4 in 12.1 ms"; empty where the batch is as recorded.
std::string LargerStepText(const replay::Prediction& prediction);
// "25.1–31.2", with the digits of MillisText; one number where both read the same.
std::string RangeText(const replay::Prediction& prediction, const Style& style);

}  // namespace hone::report
