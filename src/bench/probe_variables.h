// SPDX-License-Identifier: Apache-2.0
// The variables that bring the probe into a program.
#pragma once

#include <string>

#include "record/environment.h"

namespace hone::bench {

// "NAME=value", in place of the one of that name.
void SetVariable(record::Variables& variables, const std::string& variable);

// As `hone run` does (record/environment.h): our folder of start-up files first, the user's after
// it. The probe writes into `folder`.
void AddProbe(record::Variables& variables, const std::string& inject, const std::string& folder);

}  // namespace hone::bench
