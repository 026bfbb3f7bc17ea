// SPDX-License-Identifier: Apache-2.0
#include "analyze/still_open.h"

#include <algorithm>

namespace hone::analyze {

using trace::kNoRow;
using trace::RowId;

RowId StillOpen(const trace::HostSlices& host, std::vector<RowId>& nearest, RowId row) {
  if (host.parent[row] == kNoRow) return kNoRow;
  RowId& handed_on = nearest[host.parent[row]];
  RowId around = handed_on;
  while (around != kNoRow && host.end_ns(around) <= host.start_ns[row]) {
    around = host.parent[around] == kNoRow ? kNoRow : nearest[host.parent[around]];
  }
  handed_on = around;  // what has ended has ended for all that come later
  return around;
}

Nanos TimeInside(const trace::HostSlices& host, RowId row, RowId around) {
  return std::max<Nanos>(0, std::min(host.end_ns(row), host.end_ns(around)) - host.start_ns[row]);
}

}  // namespace hone::analyze
