// SPDX-License-Identifier: Apache-2.0
#include "analyze/forward_index.h"

#include <algorithm>
#include <tuple>

namespace hone::analyze {

using trace::kNoRow;
using trace::RowId;
using trace::Trace;

namespace {

RowId ProcessOf(const Trace& trace, RowId row) {
  return trace.threads[trace.host.thread[row]].process;
}

}  // namespace

bool ForwardIndex::Before(const Entry& a, const Entry& b) {
  return std::tie(a.process, a.sequence, a.start_ns, a.row) <
         std::tie(b.process, b.sequence, b.start_ns, b.row);
}

ForwardIndex::ForwardIndex(const Trace& trace) {
  const auto& host = trace.host;
  for (RowId i = 0; i < host.size(); ++i) {
    if (host.kind[i] != trace::SliceKind::kOp || host.link[i] < 0) continue;
    if (trace.op_details[host.detail[i]].fwd_thread > 0) continue;
    entries_.push_back({host.link[i], host.start_ns[i], ProcessOf(trace, i), i});
  }
  // A single forward thread writes its numbers in rising order: usually there is nothing to do.
  if (!std::is_sorted(entries_.begin(), entries_.end(), Before)) {
    std::sort(entries_.begin(), entries_.end(), Before);
  }
}

RowId ForwardIndex::Find(const Trace& trace, RowId backward) const {
  const Entry key{trace.host.link[backward], trace.host.start_ns[backward],
                  ProcessOf(trace, backward), kNoRow};
  const auto after = std::upper_bound(entries_.begin(), entries_.end(), key, Before);
  if (after == entries_.begin()) return kNoRow;
  const Entry& found = *(after - 1);
  return found.process == key.process && found.sequence == key.sequence ? found.row : kNoRow;
}

}  // namespace hone::analyze
