// SPDX-License-Identifier: Apache-2.0
// Communication: collectives of one rank, and what several ranks show together. docs/user/comm.md.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "analyze/steps.h"
#include "analyze/timeline.h"
#include "analyze/work_class.h"
#include "base/known.h"
#include "trace/trace.h"

namespace hone::analyze {

// One executed collective of one rank, in launch order within its process group.
struct CollectiveRun {
  trace::RowId work = trace::kNoRow;    // kNoRow: ran on the host (Gloo, MPI)
  std::string kind;                     // "all_reduce", normalized; "unknown" without metadata
  std::string group;                    // process group name, "" unknown
  std::int64_t order = 0;               // ordinal in its group by launch, whatever the kind
  std::int64_t sequence = -1;           // recorded sequence number in its group; -1 none
  Nanos start_ns = 0, duration_ns = 0;  // start on the epoch clock: base time included
  Known<double> message_bytes;          // as NCCL tests count it, see docs
  std::int64_t group_size = -1;
};

struct CollectiveRow {
  std::string kind, dtype;
  Known<double> message_bytes;
  std::int64_t group_size = -1;
  std::uint64_t count = 0;
  Nanos total_ns = 0, mean_ns = 0, max_ns = 0;
  Known<double> algorithm_gbytes_per_s, bus_gbytes_per_s;  // at the mean duration
};

// Start-up (the parameters that DistributedDataParallel sends once) is no part of what a step
// communicates: sums are over the steady steps where there are any.
struct CommFacts {
  std::size_t steps = 0;            // that rows and sums are of; 0: the whole trace
  std::vector<CollectiveRow> rows;  // by total time; of runs that lie in the steps, if in part
  std::vector<CollectiveRun> runs;  // by start; of the whole trace
  // Unions, each device by itself and then added; of the host's collectives when there are no
  // others. Exposed: what no compute hides. overlap_pct: |∪comm ∩ ∪compute| / |∪comm| · 100.
  Nanos total_ns = 0;
  Known<Nanos> exposed_ns;
  Known<double> overlap_pct;
  std::string backend;
  // Of the whole trace: where communication runs and the same device computes nothing, on the epoch
  // clock; of the host's collectives: and no operator runs on another thread.
  trace::IntervalSet exposed;
};

// Absent when no collective is in the trace.
Known<CommFacts> MeasureComm(const trace::Trace& trace, const WorkClasses& classes,
                             const Known<Timeline>& timeline, const Steps& steps);

struct RankComm {
  std::int64_t rank = -1;
  std::string path;
  const CommFacts* comm = nullptr;  // may be null: no collective on that rank
  Nanos median_step_ns = 0;         // 0: unknown
  trace::IntervalSet steady;        // window of the steady steps, epoch clock; empty: all the file
  std::size_t steady_steps = 0;     // inside it; 0: counts as one
  double compute_step_ns = 0;       // of its leading device, a steady step; 0: unknown
};

struct RankSkew {
  std::int64_t rank = -1;
  Nanos wait_ns = 0;       // ∪ over collectives: from its own start to the latest
  std::uint64_t last = 0;  // how often this rank came last
  Nanos exposed_ns = 0;    // of wait_ns: nothing else ran meanwhile (CommFacts::exposed)
  // Of the compared collectives in the steady steps, a step: exposed waiting, all waiting, and
  // exposed time, transfer included.
  double exposed_step_ns = 0, wait_step_ns = 0, standing_step_ns = 0;
  double compute_step_ns = 0;  // as given
  // By CommFacts::runs, from its start: how long it waited; -1: not found on all given ranks.
  std::vector<Nanos> waits = {};
};

// What a step would lose of its length if nobody were later than the others: never more than the
// ranks that wait show. All 0 where no wait is exposed.
struct LostToWaiting {
  double least_ns = 0, likely_ns = 0, most_ns = 0;
};

struct SkewFacts {
  // Collectives found on all ranks of their group: those that the figures below are of, which all
  // of them began inside their steady steps. Unmatched: of the whole traces.
  std::uint64_t matched = 0, unmatched = 0;
  Nanos mean_skew_ns = 0, p95_skew_ns = 0, max_skew_ns = 0;  // latest − earliest start
  std::vector<RankSkew> ranks;  // least exposed waiting first: the straggler leads
  std::int64_t straggler = -1;  // -1: none stands out
  // None stands out and yet they wait for each other: several are late, or another one from step to
  // step.
  bool uneven = false;
  LostToWaiting lost;    // of a straggler, or of uneven ranks
  bool complete = true;  // false: groups have ranks whose traces were not given
  // False: the ranks' clocks disagree (docs/user/comm.md says how that shows). The skew is then
  // measured after each rank's clock was moved so that collectives end together; `note` says by how
  // much.
  bool clocks_aligned = true;
  std::string note;
};

// Absent with fewer than two ranks or no collective in common.
Known<SkewFacts> MeasureSkew(std::span<const RankComm> ranks);

}  // namespace hone::analyze
