// SPDX-License-Identifier: Apache-2.0
// What each host slice makes of the time inside it, in the words of idle causes. The rules stand
// in docs/user/idle.md, "what the host was doing".
#pragma once

#include <vector>

#include "analyze/api_class.h"
#include "analyze/idle.h"
#include "analyze/lineage.h"
#include "trace/trace.h"

namespace hone::analyze {

// A pause of at most this between one call or operator and the next operator is the cost of
// getting there (interpreter, dispatcher), not work of its own; likewise for operators that do
// nothing but views. An eager operator costs 27 µs of host time under the profiler (15.3 ms for
// 556 kernels, host of an H200); two of them make a pause.
inline constexpr Nanos kDispatchPause = 50 * kMicrosecond;

// Python and other code outside operators tells little: another thread may be doing the work.
inline bool IsWeak(IdleCause what) {
  return what == IdleCause::kUnknown || what == IdleCause::kHostWork;
}

// The host waits in such a call and launches nothing.
inline bool IsBlocked(IdleCause what) {
  return what == IdleCause::kSync || what == IdleCause::kCopy || what == IdleCause::kCommunication;
}

struct SliceActivity {
  SliceActivity(const trace::Trace& trace, const Lineage& lineage, const ApiCalls& calls);  // O(n)

  // By host row, for the time that no slice inside the row covers.
  std::vector<IdleCause> what;       // never kUnknown, never kDeviceOverhead
  std::vector<trace::RowId> blamed;  // the slice, itself or around it, that made it so

 private:
  void FindHostComputation(const trace::Trace& trace, const Lineage& lineage);
};

}  // namespace hone::analyze
