// SPDX-License-Identifier: Apache-2.0
// The steps of a run as a member "steps" of a JSON object: in saved benchmarks and in journals.
#pragma once

#include "base/json_writer.h"
#include "base/known.h"
#include "bench/json.h"
#include "bench/result.h"

namespace hone::bench {

void WriteSteps(JsonWriter& json, const Known<Steps>& steps);
Known<Steps> ReadSteps(const JsonValue& object);

}  // namespace hone::bench
