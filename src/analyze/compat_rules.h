// SPDX-License-Identifier: Apache-2.0
// What the compatible modes share. Internal to analyze/compat_*.cc.
#pragma once

#include <string_view>

#include "base/units.h"

namespace hone::analyze {

// The double that a JSON parser makes of this time written as decimal microseconds.
double DecimalMicros(Nanos ns);

// TraceLens's "Parent op category" of an operator by its name; null when the name alone does not
// tell. A literal.
const char* TraceLensOpCategory(std::string_view op);

// The same by the name of the operator's first own piece of device work. A literal.
const char* TraceLensWorkCategory(std::string_view first_work);

}  // namespace hone::analyze
