// SPDX-License-Identifier: Apache-2.0
// Host synchronizations: calls in which the host waits for the device. docs/user/syncs.md.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "analyze/api_class.h"
#include "analyze/lineage.h"
#include "analyze/steps.h"
#include "base/known.h"
#include "trace/trace.h"

namespace hone::analyze {

struct SyncRow {
  StringId call = StringId::kEmpty;  // cudaStreamSynchronize
  StringId op = StringId::kEmpty;    // aten::_local_scalar_dense → outermost op: aten::item
  // Innermost Python frame of the user's own code (else of any code), where the trace has stacks;
  // a view into the trace's strings.
  std::string_view where;
  bool by_profiler = false;  // issued by the profiler itself, at a step's edge
  std::uint64_t count = 0;
  Nanos total_ns = 0, max_ns = 0;
  double per_step = 0;  // calls a steady step
};

struct SyncFacts {
  std::vector<SyncRow> rows;  // by total time
  std::uint64_t count = 0;
  Nanos total_ns = 0;  // host time inside blocking calls, summed over threads
};

// Rows of Trace::host: waits that the profiler itself issues, at a step's edge. O(host rows).
std::vector<trace::RowId> FindProfilerSyncs(const trace::Trace& trace, const Lineage& lineage,
                                            const ApiCalls& calls);

// Absent when the trace has no API calls.
Known<SyncFacts> FindSyncs(const trace::Trace& trace, const Lineage& lineage, const Steps& steps);

}  // namespace hone::analyze
