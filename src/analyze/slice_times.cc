// SPDX-License-Identifier: Apache-2.0
#include "analyze/slice_times.h"

#include "analyze/grouping.h"
#include "trace/running.h"

namespace hone::analyze {

using trace::kNoRow;
using trace::RowId;
using trace::SliceKind;
using trace::Trace;

std::vector<Nanos> SelfTimes(const Trace& trace) {
  const auto& host = trace.host;
  std::vector<Nanos> self(host.duration_ns.begin(), host.duration_ns.end());
  trace::Running work(host), any(host);
  for (RowId i = 0; i < host.size(); ++i) {
    const SliceKind kind = host.kind[i];
    const bool is_work = kind == SliceKind::kOp || kind == SliceKind::kApi;
    if (!is_work && kind != SliceKind::kAnnotation) continue;
    const RowId frame = any.Around(i);
    if (frame != kNoRow && host.kind[frame] == SliceKind::kAnnotation) {
      self[frame] -= trace::TimeInside(host, i, frame);
    }
    any.Begin(i);
    if (!is_work) continue;
    const RowId owner = work.Around(i);
    if (owner != kNoRow) self[owner] -= trace::TimeInside(host, i, owner);
    work.Begin(i);
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
