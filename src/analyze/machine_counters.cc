// SPDX-License-Identifier: Apache-2.0
#include "analyze/machine_counters.h"

namespace hone::analyze {

CounterSeries ReadCounter(const trace::Trace& trace, trace::Interval window,
                          std::string_view name) {
  CounterSeries series;
  for (trace::RowId i = 0; i < trace.counters.size(); ++i) {
    const Nanos time = trace.counters.time_ns[i];
    if (time < window.begin_ns || time > window.end_ns) continue;
    if (trace.Name(trace.counters.series[i]) != name) continue;
    const double value = trace.counters.value[i];
    if (series.count == 0) series.first = value;
    series.last = value;
    series.sum += value;
    ++series.count;
  }
  return series;
}

}  // namespace hone::analyze
