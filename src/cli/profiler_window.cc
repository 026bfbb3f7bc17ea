// SPDX-License-Identifier: Apache-2.0
#include "cli/profiler_window.h"

#include <algorithm>
#include <vector>

#include "analyze/grouping.h"

namespace hone::cli {

std::optional<ProfilerWindow> ProfilerWindow::Of(const trace::Trace& trace) {
  if (trace.info.format != trace::Format::kKineto || trace.host.size() == 0) return std::nullopt;
  std::vector<std::uint64_t> slices(trace.processes.size(), 0);
  for (const trace::Thread& thread : trace.threads) {
    if (thread.process < slices.size())
      slices[thread.process] += thread.last_slice - thread.first_slice;
  }
  const auto most = std::max_element(slices.begin(), slices.end());
  if (most == slices.end() || *most == 0) return std::nullopt;
  ProfilerWindow window;
  window.pid = trace.processes[static_cast<std::size_t>(most - slices.begin())].pid;
  window.rank = trace.info.rank;
  if (window.pid < 0) return std::nullopt;
  Nanos begin = INT64_MAX, end = INT64_MIN;
  for (trace::RowId i = 0; i < trace.host.size(); ++i) {
    begin = std::min(begin, trace.host.start_ns[i]);
    end = std::max(end, trace.host.end_ns(i));
  }
  window.begin_ns = analyze::SaturatingAdd(trace.info.base_time_ns, begin);
  window.end_ns = analyze::SaturatingAdd(trace.info.base_time_ns, end);
  return window;
}

}  // namespace hone::cli
