// SPDX-License-Identifier: Apache-2.0
#include "doctor/half_precision.h"

#include <utility>

namespace hone::doctor {
namespace {

// What it must give alone by the cautious end of its prediction, and on top of the fixes by the
// likely one, to be named: predictions of it were off by up to a sixth on programs that nothing was
// fitted to.
constexpr double kWorth = 1.15;

}  // namespace

Known<replay::Prediction> OfferHalfPrecision(const replay::WhatIf& whatif,
                                             std::vector<std::string_view> fixes) {
  using Offer = Known<replay::Prediction>;
  if (const auto& edit = whatif.Find(kHalfPrecision); !edit) return Offer::Absent(edit.why_not());
  const double before = whatif.Predict(fixes).likely_ns;
  const replay::Prediction alone = whatif.Predict({kHalfPrecision});
  fixes.push_back(kHalfPrecision);
  const replay::Prediction all = fixes.size() == 1 ? alone : whatif.Predict(fixes);
  const bool sure = alone.high_ns > 0 && whatif.bare().likely_ns >= kWorth * alone.high_ns;
  if (!sure || all.likely_ns <= 0 || before < kWorth * all.likely_ns) {
    return Offer::Absent("half precision is not sure to make a step 1.15x faster");
  }
  return all;
}

}  // namespace hone::doctor
