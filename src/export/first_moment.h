// SPDX-License-Identifier: Apache-2.0
// When a trace begins, for formats that count time from zero.
#pragma once

#include <algorithm>

#include "trace/trace.h"

namespace hone::exporter {

// The first moment of anything in the trace, on its own clock; 0 for an empty one. Linear in the
// tables that are not sorted by time, which are small.
inline Nanos FirstMoment(const trace::Trace& trace) {
  Nanos first = INT64_MAX;
  const auto sorted = [&](const Column<Nanos>& times) {
    if (times.size() > 0) first = std::min(first, times[0]);
  };
  const auto any = [&](const Column<Nanos>& times) {
    for (std::size_t i = 0; i < times.size(); ++i) first = std::min(first, times[i]);
  };
  for (const trace::Thread& thread : trace.threads) {
    if (thread.first_slice < thread.last_slice) {
      first = std::min(first, trace.host.start_ns[thread.first_slice]);
    }
  }
  sorted(trace.device.start_ns);
  sorted(trace.memory.time_ns);
  sorted(trace.samples.time_ns);
  any(trace.counters.time_ns);
  any(trace.instants.time_ns);
  any(trace.syncs.start_ns);
  any(trace.device_annotations.start_ns);
  return first == INT64_MAX ? 0 : first;
}

}  // namespace hone::exporter
