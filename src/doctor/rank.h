// SPDX-License-Identifier: Apache-2.0
// Ranking: what each finding gives back, faces of one cause merged, best first.
#pragma once

#include <vector>

#include "base/known.h"
#include "doctor/finding.h"
#include "replay/whatif.h"

namespace hone::doctor {

// Shares of the bare step that a fix must give back. A fifth is what nobody leaves on the table; a
// twentieth is above the spread of steady steps; less than two hundredths are not worth a sentence.
inline constexpr double kHighShare = 0.20, kMediumShare = 0.05, kLeastShare = 0.02;

struct Ranking {
  std::vector<Finding> findings;       // best first
  Known<replay::Prediction> together;  // every fix at once
};

// `whatif` may be null: then rules' own severities decide.
Ranking Rank(std::vector<Finding> fired, const replay::WhatIf* whatif);

}  // namespace hone::doctor
