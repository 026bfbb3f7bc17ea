// SPDX-License-Identifier: Apache-2.0
// Where the time goes when no finding says what there is to gain: the line of the program that most
// samples are at.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "analyze/facts.h"
#include "doctor/finding.h"

namespace hone::doctor {

struct BusiestLine {
  std::string_view frame;  // as recorded, a view into the trace
  double share = 0;        // of the samples in which a thread runs, with what the line calls
};

// nullopt: a finding predicts a gain, a device's time counts, or no line has much.
std::optional<BusiestLine> FindBusiestLine(const analyze::Facts& facts,
                                           const std::vector<Finding>& findings);

}  // namespace hone::doctor
