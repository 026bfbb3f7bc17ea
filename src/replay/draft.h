// SPDX-License-Identifier: Apache-2.0
// Draft: the lanes of a graph before they are merged into one order. Internal to replay.
#pragma once

#include <vector>

#include "replay/graph.h"

namespace hone::replay {

// A place in a draft: task `index` of lane `lane`. Device work is named by its row instead, since
// its lanes are made last.
struct Place {
  std::uint16_t lane = 0;
  std::uint32_t index = 0;
};

struct DraftEdge {
  Place to;
  Place from;
  trace::RowId from_work = trace::kNoRow;  // set: `from` is this row of Trace::device
  bool from_start = false;
  Nanos lag_ns = 0;
  std::uint8_t laps = 0;  // of so many repetitions ago
  Nanos ready_ns = INT64_MIN;
  Nanos waited_ns = 0;  // of a wait that this explains: the call's, where the edge cannot be had
};

struct Draft {
  trace::Interval window;
  std::vector<Lane> lanes;
  std::vector<std::vector<Task>> tasks;  // by lane, in time order
  std::vector<DraftEdge> edges;
  std::vector<std::uint16_t> lane_of_thread;  // UINT16_MAX: the thread has no lane
  std::vector<Place> of_call;                 // by row of Trace::host; lane UINT16_MAX: none
};
inline constexpr std::uint16_t kNoLane = UINT16_MAX;
// No program has more; a broken file may name more, which are then left out.
inline constexpr std::size_t kMostLanes = 4'096;

// Merges the lanes by measured start and turns places into task ids. Edges that would point back
// in time are dropped: measured order says that nobody waited there.
Graph Merge(const trace::Trace& trace, Draft draft);

}  // namespace hone::replay
