// SPDX-License-Identifier: Apache-2.0
// Which number format a kernel's arithmetic takes in, by the naming scheme of its library.
#pragma once

#include <string_view>

#include "analyze/kernel_family.h"

namespace hone::analyze {

// `name` in lower case. kUnknown where the scheme does not say.
Precision PrecisionOfName(std::string_view name);

// Bytes of one element; 0 for kUnknown, kInt and kMixed. Four-bit formats round up to 1.
int ElementBytes(Precision precision);

}  // namespace hone::analyze
