// SPDX-License-Identifier: Apache-2.0
// Limits (ulimit) under which a program runs as ever and nothing can be recorded: the program is
// the one that is to run.
#pragma once

#include <string>

namespace hone::record {

// Why this process cannot record anything, one sentence; empty: nothing stands in the way.
std::string WhyLimitsForbid();

}  // namespace hone::record
