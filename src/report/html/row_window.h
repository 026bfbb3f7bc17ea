// SPDX-License-Identifier: Apache-2.0
// The part of a trace that fits on a page.
#pragma once

#include <string>

#include "report/report.h"

namespace hone::report {

struct RowWindow {
  trace::Interval span;      // rows that overlap it are shown
  bool everything = true;    // no row is left out
  std::size_t left_out = 0;  // rows
  std::string why;           // for people
  bool Shows(Nanos start_ns, Nanos end_ns) const {
    return everything ||
           (start_ns < span.end_ns && (end_ns > span.begin_ns || start_ns >= span.begin_ns));
  }
};

// Graph nodes are moments of construction, not rows. O(rows · log steps).
bool IsShownKind(trace::SliceKind kind);
RowWindow ChooseWindow(const Input& input, std::size_t most);

}  // namespace hone::report
