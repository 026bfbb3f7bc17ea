// SPDX-License-Identifier: Apache-2.0
#include "analyze/memory_places.h"

namespace hone::analyze {

using trace::kNoRow;
using trace::RowId;

// One sweep over slices and events of a thread together.
std::vector<RowId> SlicesAroundMemory(const trace::Trace& trace) {
  const auto& host = trace.host;
  std::vector<RowId> around(trace.memory.size(), kNoRow);
  const std::size_t threads = trace.threads.size();
  // Events by thread, in order of time; those of unknown threads are left out.
  std::vector<std::size_t> first(threads + 1, 0);
  for (const std::uint16_t thread : trace.memory.thread) {
    if (thread < threads) ++first[thread + 1];
  }
  for (std::size_t t = 0; t < threads; ++t) first[t + 1] += first[t];
  std::vector<RowId> events(first[threads]);
  std::vector<std::size_t> at(first.begin(), first.end());
  for (RowId i = 0; i < trace.memory.size(); ++i) {
    if (trace.memory.thread[i] < threads) events[at[trace.memory.thread[i]]++] = i;
  }
  std::vector<RowId> open;
  for (std::size_t t = 0; t < threads; ++t) {
    open.clear();
    RowId next = trace.threads[t].first_slice;
    const RowId last = trace.threads[t].last_slice;
    for (std::size_t e = first[t]; e < first[t + 1]; ++e) {
      const RowId event = events[e];
      const Nanos time = trace.memory.time_ns[event];
      for (; next < last && host.start_ns[next] <= time; ++next) {
        while (!open.empty() && host.end_ns(open.back()) <= host.start_ns[next]) open.pop_back();
        open.push_back(next);
      }
      while (!open.empty() && host.end_ns(open.back()) <= time) open.pop_back();
      if (!open.empty()) around[event] = open.back();
    }
  }
  return around;
}

}  // namespace hone::analyze
