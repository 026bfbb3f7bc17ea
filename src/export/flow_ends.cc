// SPDX-License-Identifier: Apache-2.0
#include "export/flow_ends.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace hone::exporter {

using trace::kNoRow;
using trace::RowId;

std::vector<FlowEnd> FindFlowEnds(const trace::Trace& trace) {
  const trace::Flows& flows = trace.flows;
  const trace::HostSlices& host = trace.host;
  std::vector<RowId> order(flows.size());
  std::iota(order.begin(), order.end(), RowId{0});
  std::sort(order.begin(), order.end(), [&](RowId a, RowId b) {
    return std::tie(flows.thread[a], flows.time_ns[a], a) <
           std::tie(flows.thread[b], flows.time_ns[b], b);
  });
  std::vector<FlowEnd> ends;
  std::vector<RowId> open;  // slices around the moment, the innermost last
  RowId next = 0;
  std::uint16_t thread = UINT16_MAX;
  for (const RowId flow : order) {
    const Nanos time = flows.time_ns[flow];
    if (flows.thread[flow] >= trace.threads.size()) continue;
    const trace::Thread& row = trace.threads[flows.thread[flow]];
    if (flows.thread[flow] != thread) {
      thread = flows.thread[flow];
      next = row.first_slice;
      open.clear();
    }
    for (; next < row.last_slice && host.start_ns[next] <= time; ++next) {
      while (!open.empty() && host.end_ns(open.back()) <= host.start_ns[next]) open.pop_back();
      open.push_back(next);
    }
    while (!open.empty() && host.end_ns(open.back()) < time) open.pop_back();
    if (open.empty()) continue;
    RowId found = open.back();
    // Operators that start together nest a handful deep; the bound is for hostile files.
    const std::size_t outermost = open.size() > 32 ? open.size() - 32 : 0;
    for (std::size_t i = open.size(); i-- > outermost && host.start_ns[open[i]] == time;) {
      if (host.kind[open[i]] == trace::SliceKind::kOp) found = open[i];
    }
    ends.push_back({found, flows.id[flow], flows.finish[flow] != 0});
  }
  std::stable_sort(ends.begin(), ends.end(),
                   [](const FlowEnd& a, const FlowEnd& b) { return a.slice < b.slice; });
  return ends;
}

}  // namespace hone::exporter
