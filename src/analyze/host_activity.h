// SPDX-License-Identifier: Apache-2.0
// What each host thread was doing at each moment, in the words of idle causes. The rules stand in
// docs/user/idle.md, "what the host was doing".
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "analyze/api_class.h"
#include "analyze/idle.h"
#include "analyze/lineage.h"
#include "analyze/slice_activity.h"
#include "base/column.h"
#include "trace/trace.h"

namespace hone::analyze {

// From begin_ns to the begin of the next segment. kUnknown: no slice of the thread covers it.
struct ActivitySegment {
  Nanos begin_ns = INT64_MIN;
  trace::RowId blamed = trace::kNoRow;  // slice that made the moment what it is
  IdleCause what = IdleCause::kUnknown;
};

class HostActivity {
 public:
  // O(host rows + device rows + segments · log(threads that launch)).
  HostActivity(const trace::Trace& trace, const Lineage& lineage, const ApiCalls& calls);

  // Never empty: the first segment begins at INT64_MIN, the last one is kUnknown.
  std::span<const ActivitySegment> OfThread(std::size_t thread) const {
    return {segments_.data() + first_[thread], first_[thread + 1] - first_[thread]};
  }

  // What threads of one process that launch device work do besides Python, all threads together:
  // for each of kByStrength disjoint pieces in time order. Empty when fewer than two threads of
  // the process launch, since then nobody else could be asked.
  struct Piece {
    Nanos begin_ns, end_ns;
    trace::RowId blamed;
    IdleCause what;
  };
  // Where several threads are active at once, the one that works says more than the one that waits.
  static constexpr std::array<IdleCause, 6> kByStrength = {
      IdleCause::kLaunch, IdleCause::kAllocator, IdleCause::kCommunication,
      IdleCause::kCopy,   IdleCause::kSync,      IdleCause::kLoader};
  using Pieces = std::array<std::vector<Piece>, kByStrength.size()>;
  const Pieces& OfLaunchers(std::size_t process) const { return launchers_[process]; }

  // Row of Trace::processes for a thread; threads without one share an extra last row.
  std::size_t ProcessOf(std::size_t thread) const { return process_of_[thread]; }
  std::size_t process_count() const { return launchers_.size(); }

  // The thread that launches most device work; -1: none does.
  int main_launcher() const { return main_launcher_; }

 private:
  void Flatten(const trace::Trace& trace, const SliceActivity& slices, const trace::Thread& thread);
  void Emit(std::size_t first, ActivitySegment segment);
  void BridgePauses(std::size_t first);
  std::vector<std::uint64_t> CountLaunches(const trace::Trace& trace);
  std::vector<Piece> StrongPieces(const std::vector<std::size_t>& threads) const;
  void MergeLaunchers(const std::vector<std::uint64_t>& launches);

  Column<ActivitySegment> segments_;     // all threads, in order
  std::vector<std::size_t> first_;       // by thread, and one past the last
  std::vector<Pieces> launchers_;        // by process
  std::vector<std::size_t> process_of_;  // by thread
  int main_launcher_ = -1;
};

}  // namespace hone::analyze
