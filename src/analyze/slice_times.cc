// SPDX-License-Identifier: Apache-2.0
#include "analyze/slice_times.h"

#include <algorithm>

#include "analyze/grouping.h"

namespace hone::analyze {

using trace::kNoRow;
using trace::RowId;
using trace::SliceKind;
using trace::Trace;

std::vector<Nanos> SelfTimes(const Trace& trace) {
  const auto& host = trace.host;
  std::vector<Nanos> self(host.duration_ns.begin(), host.duration_ns.end());
  // Nearest row of those kinds, itself included.
  std::vector<RowId> op_or_api(host.size(), kNoRow), any(host.size(), kNoRow);
  const auto subtract = [&](RowId child, RowId owner) {
    const Nanos inside = std::min(host.end_ns(child), host.end_ns(owner)) - host.start_ns[child];
    self[owner] -= std::max<Nanos>(inside, 0);
  };
  for (RowId i = 0; i < host.size(); ++i) {
    const RowId parent = host.parent[i];
    const RowId work = parent == kNoRow ? kNoRow : op_or_api[parent];
    const RowId frame = parent == kNoRow ? kNoRow : any[parent];
    const SliceKind kind = host.kind[i];
    const bool is_work = kind == SliceKind::kOp || kind == SliceKind::kApi;
    op_or_api[i] = is_work ? i : work;
    any[i] = is_work || kind == SliceKind::kAnnotation ? i : frame;
    if (is_work && work != kNoRow) subtract(i, work);
    if (any[i] == i && frame != kNoRow && host.kind[frame] == SliceKind::kAnnotation) {
      subtract(i, frame);
    }
  }
  return self;
}

std::vector<Nanos> DeviceTotals(const Trace& trace, const Lineage& lineage) {
  const auto& device = trace.device;
  const auto& host = trace.host;
  std::vector<Nanos> total(host.size(), 0);
  for (RowId i = 0; i < device.size(); ++i) {
    const RowId op = device.op[i], api = device.api[i];
    // An operator found by External id need not stand around the call.
    const bool nested = api != kNoRow && lineage.op[api] == op;
    const RowId at = nested || op == kNoRow ? api : op;
    if (at != kNoRow) total[at] = SaturatingAdd(total[at], device.duration_ns[i]);
  }
  for (auto i = static_cast<RowId>(host.size()); i-- > 0;) {
    const RowId parent = host.parent[i];
    if (parent != kNoRow && total[i] != 0) total[parent] = SaturatingAdd(total[parent], total[i]);
  }
  return total;
}

}  // namespace hone::analyze
