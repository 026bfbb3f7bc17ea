// SPDX-License-Identifier: Apache-2.0
// What half precision would give where matrix work already runs on tensor cores in fp32. Nothing is
// wrong there, and it rounds more coarsely: it is offered, never ranked among the findings.
#pragma once

#include <string_view>
#include <vector>

#include "base/known.h"
#include "replay/whatif.h"

namespace hone::doctor {

inline constexpr std::string_view kHalfPrecision = "bf16-autocast";  // of replay::AllEdits()

// The step under bfloat16 autocast with `fixes` made too. Absent: nothing is in fp32, or what it
// gives is not sure to be worth it.
Known<replay::Prediction> OfferHalfPrecision(const replay::WhatIf& whatif,
                                             std::vector<std::string_view> fixes);

}  // namespace hone::doctor
