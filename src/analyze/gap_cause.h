// SPDX-License-Identifier: Apache-2.0
// The cause of one gap of a device. The rules and their reasons: docs/user/idle.md.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "analyze/api_class.h"
#include "analyze/host_activity.h"
#include "analyze/idle.h"
#include "trace/interval.h"
#include "trace/trace.h"

namespace hone::analyze {

struct GapEnds {
  trace::RowId previous = trace::kNoRow;  // device work that ended last before the gap
  trace::RowId next = trace::kNoRow;      // device work that ends the gap
};

struct GapCause {
  IdleCause cause = IdleCause::kUnknown;
  trace::RowId blamed = trace::kNoRow;
};

// Gaps must be asked for in time order and must not overlap: every table is walked once, so that
// all gaps together cost O(gaps + segments).
class GapExplainer {
 public:
  GapExplainer(const trace::Trace& trace, const HostActivity& activity, const ApiCalls& calls);

  GapCause Explain(trace::Interval gap, GapEnds ends);

 private:
  class Vote;
  struct Moment {
    IdleCause what;
    trace::RowId blamed;
    Nanos end_ns;
  };

  Moment At(std::size_t thread, Nanos time, Nanos limit);
  void Walk(std::size_t thread, trace::Interval window, IdleCause unseen, Vote& vote);
  Vote StartVote(std::size_t thread, trace::Interval gap);
  IdleCause Queued(GapEnds ends, Nanos waited_ns);
  bool IsCommunication(trace::RowId work);
  bool LaunchedBeforeRecording(trace::RowId work) const;

  const trace::Trace& trace_;
  const HostActivity& activity_;
  const ApiCalls& calls_;
  std::vector<std::size_t> thread_at_;  // cursors into segments, by thread
  std::vector<std::array<std::size_t, HostActivity::kByStrength.size()>> process_at_;
  std::vector<trace::RowId> first_linked_;  // by stream: first work with a known launch
  std::vector<std::uint8_t> comm_names_;    // by StringId: 0 unseen, 1 no, 2 yes
};

}  // namespace hone::analyze
