// SPDX-License-Identifier: Apache-2.0
// "counters": what the machine was doing meanwhile.
#pragma once

#include "base/json_writer.h"
#include "report/report.h"

namespace hone::report {

inline constexpr std::size_t kMostPoints = 4'000;  // of one series, twice a wide screen

// Series inside `shown`, times from its begin. Longer ones keep the extremes of equal stretches;
// what the recorder counts up is written as a rate.
void WritePageCounters(JsonWriter& json, const trace::Trace& trace, trace::Interval shown);

}  // namespace hone::report
