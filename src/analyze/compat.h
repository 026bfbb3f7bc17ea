// SPDX-License-Identifier: Apache-2.0
// The numbers of other tools by their own rules, floating point included, so that a user can check
// hone against what they know. docs/user/compat.md says where the rules differ from ours.
#pragma once

#include <string>
#include <vector>

#include "base/known.h"
#include "trace/trace.h"

namespace hone::analyze {

struct TraceLensTimeline {  // milliseconds
  double computation = 0, exposed_comm = 0, exposed_memcpy = 0, busy = 0, idle = 0, total = 0,
         total_comm = 0, total_memcpy = 0;
};

struct TraceLensKernelRow {  // microseconds
  std::string category, parent_op, kernel;
  std::int64_t stream = 0;
  double sum = 0, mean = 0, min = 0, max = 0;
  std::uint64_t count = 0;
  double pct_of_kernels = 0, pct_of_total = 0;
};

struct TraceLensFacts {
  Known<TraceLensTimeline> timeline;
  std::vector<TraceLensKernelRow> kernels;  // by sum
};
TraceLensFacts ComputeTraceLens(const trace::Trace& trace);

struct HtaBreakdown {  // microseconds, by HTA's load filter and classes
  double kernel_time = 0, idle = 0, compute = 0, non_compute = 0;
  double idle_pct = 0, compute_pct = 0, non_compute_pct = 0;
};
struct HtaIdleRow {
  std::int64_t stream = 0;
  std::string category;  // host_wait, kernel_wait, other
  double idle_us = 0, ratio = 0;
};
struct HtaFacts {
  Known<HtaBreakdown> breakdown;
  std::vector<HtaIdleRow> idle;
  Known<double> comm_comp_overlap_pct;
};
HtaFacts ComputeHta(const trace::Trace& trace);

}  // namespace hone::analyze
