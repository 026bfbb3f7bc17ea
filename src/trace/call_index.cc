// SPDX-License-Identifier: Apache-2.0
#include "trace/call_index.h"

#include <algorithm>
#include <tuple>

namespace hone::trace {

CallIndex::CallIndex(const Trace& trace, SliceKind kind) {
  const HostSlices& host = trace.host;
  std::int64_t lowest = INT64_MAX, highest = INT64_MIN;
  std::size_t count = 0;
  for (RowId i = 0; i < host.size(); ++i) {
    if (host.kind[i] != kind || host.id[i] == 0) continue;
    lowest = std::min(lowest, host.id[i]);
    highest = std::max(highest, host.id[i]);
    ++count;
  }
  if (count == 0) return;

  // CUPTI numbers calls one by one, so ids of one process are dense: a plain array is enough. It
  // gives up at the first id seen twice.
  // A profiler of PyTorch sees one process; files of several are merged ones.
  const bool told_apart =
      trace.info.format != Format::kKineto ||
      std::any_of(trace.streams.begin(), trace.streams.end(),
                  [](const Stream& stream) { return stream.process != kNoRow; });
  const bool one_process = trace.processes.size() <= 1 || !told_apart;
  const std::uint64_t span =
      static_cast<std::uint64_t>(highest) - static_cast<std::uint64_t>(lowest);
  if (one_process && span < 16 * count + 1024) {
    first_id_ = lowest;
    dense_.assign(span + 1, kNoRow);
    for (RowId i = 0; i < host.size(); ++i) {
      if (host.kind[i] != kind || host.id[i] == 0) continue;
      RowId& slot = dense_[static_cast<std::size_t>(host.id[i] - lowest)];
      if (slot != kNoRow) {
        dense_.clear();
        break;
      }
      slot = i;
    }
    if (!dense_.empty()) return;
    dense_.shrink_to_fit();
  }

  sorted_.reserve(count);
  for (RowId i = 0; i < host.size(); ++i) {
    if (host.kind[i] != kind || host.id[i] == 0) continue;
    const RowId process = one_process ? kNoRow : trace.threads[host.thread[i]].process;
    sorted_.push_back({host.id[i], process, i, host.start_ns[i]});
  }
  std::sort(sorted_.begin(), sorted_.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.id, a.process, a.start_ns, a.row) <
           std::tie(b.id, b.process, b.start_ns, b.row);
  });
  for (std::size_t i = 1; i < sorted_.size(); ++i) {
    if (sorted_[i].id == sorted_[i - 1].id && sorted_[i].process == sorted_[i - 1].process) {
      ++duplicates_;
    }
  }
}

RowId CallIndex::Find(std::int64_t id, RowId process, Nanos no_later_than_ns) const {
  if (id == 0) return kNoRow;
  if (!dense_.empty()) {
    const std::uint64_t offset =
        static_cast<std::uint64_t>(id) - static_cast<std::uint64_t>(first_id_);
    return offset < dense_.size() ? dense_[offset] : kNoRow;
  }
  if (sorted_.empty()) return kNoRow;
  const bool any_process = process == kNoRow || sorted_.front().process == kNoRow;
  const RowId low = any_process ? 0 : process;
  const auto first =
      std::lower_bound(sorted_.begin(), sorted_.end(), std::make_pair(id, low),
                       [](const Entry& e, const std::pair<std::int64_t, RowId>& key) {
                         return std::tie(e.id, e.process) < std::tie(key.first, key.second);
                       });
  if (first == sorted_.end() || first->id != id) return kNoRow;
  if (!any_process && first->process != process) return kNoRow;
  const auto after =
      std::upper_bound(first, sorted_.end(), no_later_than_ns, [&](Nanos time, const Entry& e) {
        return e.id != id || e.process != first->process || time < e.start_ns;
      });
  return after == first ? first->row : (after - 1)->row;
}

}  // namespace hone::trace
