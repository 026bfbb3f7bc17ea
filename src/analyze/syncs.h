// SPDX-License-Identifier: Apache-2.0
// Host synchronizations: calls in which the host waits for the device. docs/user/syncs.md.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyze/lineage.h"
#include "analyze/steps.h"
#include "base/known.h"
#include "trace/trace.h"

namespace hone::analyze {

enum class ApiClass : std::uint8_t { kOther, kLaunch, kGraphLaunch, kCopy, kBlockingCopy, kSync,
                                     kAllocate, kFree, kEvent };
// By name, once per distinct name: cuda*, cu*, hip*. Shared by idle, launches and syncs.
ApiClass ClassifyApi(std::string_view name);

struct SyncRow {
  StringId call = StringId::kEmpty;      // cudaStreamSynchronize
  StringId op = StringId::kEmpty;        // aten::_local_scalar_dense → outermost op: aten::item
  StringId where = StringId::kEmpty;     // Python source line, where the trace has stacks
  bool by_profiler = false;              // issued by the profiler itself, at a step's edge
  std::uint64_t count = 0;
  Nanos total_ns = 0, max_ns = 0;
  double per_step = 0;                   // calls a steady step
};

struct SyncFacts {
  std::vector<SyncRow> rows;             // by total time
  std::uint64_t count = 0;
  Nanos total_ns = 0;                    // host time inside blocking calls, summed over threads
};

// Absent when the trace has no API calls.
Known<SyncFacts> FindSyncs(const trace::Trace& trace, const Lineage& lineage, const Steps& steps);

}  // namespace hone::analyze
