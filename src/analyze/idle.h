// SPDX-License-Identifier: Apache-2.0
// Idle causes: every gap of the device gets exactly one cause, and they sum to the idle time.
// Definition and order of the tests: docs/user/idle.md.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "analyze/lineage.h"
#include "analyze/steps.h"
#include "analyze/timeline.h"
#include "base/known.h"
#include "trace/trace.h"

namespace hone::analyze {

enum class IdleCause : std::uint8_t {
  kLoader,          // the launching thread was fetching a batch
  kSync,            // the host was blocked in a synchronization and launched nothing
  kCopy,            // the host was blocked in a copy
  kCommunication,   // the host or the stream waited for a collective
  kAllocator,       // cudaMalloc, cudaFree, cudaHostAlloc and kin
  kLaunch,          // the host was inside operators or launch calls: it launches too slowly
  kHostWork,        // the host ran Python or other code outside any operator
  kDeviceOverhead,  // the launch was already queued: the device's own turn-around between kernels
  kUnknown,         // no host activity in the trace explains it
};
inline constexpr std::size_t kIdleCauseCount = 9;
const char* IdleCauseId(IdleCause cause);    // "waiting-for-data", stable
const char* IdleCauseText(IdleCause cause);  // "waiting for data"

struct IdleGap {
  trace::Interval span;
  IdleCause cause = IdleCause::kUnknown;
  trace::RowId next_work = trace::kNoRow;  // device work that ends the gap
  trace::RowId blamed = trace::kNoRow;     // host slice that explains it, where there is one
};

struct IdleFacts {
  trace::RowId device = trace::kNoRow;
  std::vector<IdleGap> gaps;                       // all, in time order, whole trace
  std::array<Nanos, kIdleCauseCount> whole_ns{};   // sums to timeline.whole.idle_ns
  std::array<Nanos, kIdleCauseCount> steady_ns{};  // inside the steady window, edges included
  std::array<std::uint64_t, kIdleCauseCount> count{};
};

// For Timeline's main device. Absent when there is no device work.
Known<IdleFacts> ExplainIdle(const trace::Trace& trace, const Known<Timeline>& timeline,
                             const Steps& steps, const Lineage& lineage);

}  // namespace hone::analyze
