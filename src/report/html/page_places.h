// SPDX-License-Identifier: Apache-2.0
// "places": where on the timeline to look for each finding.
#pragma once

#include <string>
#include <vector>

#include "base/json_writer.h"
#include "report/html/page_rows.h"
#include "report/report.h"

namespace hone::report {

struct PagePlace {
  trace::Interval span;
  std::string text;
  std::int64_t lane = -1;  // index into PageRows::lanes; -1: no single one
};

inline constexpr std::size_t kMostPlaces = 5;  // of a finding

// By finding, in their order. The moments that the rule named; else the longest shown rows of the
// kernel or operator it named; else the longest idle gaps of the cause it is about; else none.
// Linear in the rows.
std::vector<std::vector<PagePlace>> FindPlaces(const Input& input,
                                               const std::vector<doctor::Finding>& findings,
                                               const PageRows& rows);

void WritePagePlaces(JsonWriter& json, const std::vector<std::vector<PagePlace>>& places,
                     Nanos begin_ns);

}  // namespace hone::report
