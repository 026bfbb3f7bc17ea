// SPDX-License-Identifier: Apache-2.0
// PageRows: which rows of a trace the page's timeline shows, lane by lane, and where each stands.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/report.h"

namespace hone::report {

inline constexpr std::uint32_t kNoPageRow = UINT32_MAX;
// A browser holds a million rows of 30 bytes with ease, and a page of them stays below 25 MB.
inline constexpr std::size_t kMostPageRows = 1'000'000;

struct PageLane {
  bool stream = false;  // of a device; else a thread
  std::string name, process;
  std::int64_t device = -1;           // as the vendor numbers it; -1: none, not known
  std::int64_t tid = -1;              // of threads
  std::uint32_t first = 0, last = 0;  // rows [first, last)
  std::uint32_t levels = 0;
};

struct PageRows {
  std::vector<PageLane> lanes;  // threads, those that launch work first; then streams by device
  // By row of the page: the row of Trace::host (below host_count) or of Trace::device it shows.
  std::vector<trace::RowId> source;
  std::vector<std::uint8_t> depth;
  std::uint32_t host_count = 0;
  // By row of the trace: the row of the page; kNoPageRow: not shown.
  std::vector<std::uint32_t> of_host, of_device;
  trace::Interval shown;     // from the earliest to the latest moment on the page
  std::size_t left_out = 0;  // rows of the trace that are not on the page, over the limit
  std::string why_left_out;

  bool is_host(std::uint32_t row) const { return row < host_count; }
  std::size_t size() const { return source.size(); }
  trace::Interval SpanOf(const trace::Trace& trace, std::uint32_t row) const {
    const trace::RowId i = source[row];
    return is_host(row) ? trace::Interval{trace.host.start_ns[i], trace.host.end_ns(i)}
                        : trace::Interval{trace.device.start_ns[i], trace.device.end_ns(i)};
  }
};

// Linear in the trace. Where there are more rows than `most`, those of the first steady steps that
// fit, at least one.
PageRows ArrangeRows(const Input& input, std::size_t most = kMostPageRows);

}  // namespace hone::report
