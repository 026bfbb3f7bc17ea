// SPDX-License-Identifier: Apache-2.0
// A trial as a line of the journal.
#pragma once

#include <string>

#include "bench/json.h"
#include "tune/trial.h"

namespace hone::tune {

// One line without its end. `description`: of a describing run; may be null.
std::string TrialLine(const Trial& trial, const Description* description);

// The members of such a line; what is not there is the default.
Trial ReadTrialLine(const bench::JsonValue& line);

// Equal for orders whose trials can stand for each other: everything but the timeout.
std::string KeyOf(const TrialOrder& order);

}  // namespace hone::tune
