// SPDX-License-Identifier: Apache-2.0
#include "doctor/half_precision.h"

#include <fmt/format.h>

#include <utility>

namespace hone::doctor {
namespace {

// What it must give alone by the cautious end of its prediction, and on top of the fixes by the
// likely one, to be named: predictions of it were off by up to a sixth on programs that nothing was
// fitted to.
constexpr double kWorth = 1.15;

}  // namespace

const replay::HalfFormat& HalfPrecisionOf(const replay::Model& model) {
  const replay::HalfFormat* format = model.peaks() ? replay::HalfFormatOf(*model.peaks()) : nullptr;
  return format == nullptr ? replay::kBfloat16 : *format;
}

std::string AutocastCode(const replay::HalfFormat& format, bool trains, std::string_view remark) {
  const std::string autocast =
      fmt::format("with torch.autocast(\"cuda\", torch.{}):   # {}\n    {}\n", format.dtype, remark,
                  trains ? "loss = criterion(model(x), y)" : "y = model(x)");
  if (!format.scaled || !trains) return autocast;
  return "scaler = torch.amp.GradScaler(\"cuda\")   # once\n" + autocast +
         "scaler.scale(loss).backward()\n"
         "scaler.step(optimizer)\n"
         "scaler.update()\n";
}

Known<replay::Prediction> OfferHalfPrecision(const replay::WhatIf& whatif,
                                             std::vector<std::string_view> fixes) {
  using Offer = Known<replay::Prediction>;
  const std::string_view half = HalfPrecisionOf(whatif.model()).fix;
  if (const auto& edit = whatif.Find(half); !edit) return Offer::Absent(edit.why_not());
  const double before = whatif.Predict(fixes).likely_ns;
  const replay::Prediction alone = whatif.Predict({half});
  fixes.push_back(half);
  const replay::Prediction all = fixes.size() == 1 ? alone : whatif.Predict(fixes);
  const bool sure = alone.high_ns > 0 && whatif.bare().likely_ns >= kWorth * alone.high_ns;
  if (!sure || all.likely_ns <= 0 || before < kWorth * all.likely_ns) {
    return Offer::Absent("half precision is not sure to make a step 1.15x faster");
  }
  return all;
}

}  // namespace hone::doctor
