// SPDX-License-Identifier: Apache-2.0
// What half precision would give where matrix work already runs on tensor cores in fp32, and its
// code. Nothing is wrong there, and it rounds more coarsely: it is offered, never ranked among the
// findings, except where no other format takes fp32's work to the tensor cores (no-tensor-cores).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/known.h"
#include "replay/edits/half_format.h"
#include "replay/whatif.h"

namespace hone::doctor {

// Of the device; bfloat16 where it is not known.
const replay::HalfFormat& HalfPrecisionOf(const replay::Model& model);

// Lines to paste, with what the format needs beside autocast; `remark` stands behind the first line
// of autocast itself.
std::string AutocastCode(const replay::HalfFormat& format, bool trains, std::string_view remark);

// The step under autocast with `fixes` made too. Absent: nothing is in fp32, or what it gives is
// not sure to be worth it.
Known<replay::Prediction> OfferHalfPrecision(const replay::WhatIf& whatif,
                                             std::vector<std::string_view> fixes);

}  // namespace hone::doctor
