// SPDX-License-Identifier: Apache-2.0
// Graphs written by hand, for tests of the replay. Times in nanoseconds.
#pragma once

#include <vector>

#include "replay/graph.h"

namespace hone::replay {

class SampleGraph {
 public:
  explicit SampleGraph(std::vector<LaneKind> lanes) : last_(lanes.size(), kNoTask) {
    for (const LaneKind kind : lanes) {
      // A thread begins with the window; a stream is ready for whatever comes first.
      graph_.lanes.push_back({kind, 0, kind == LaneKind::kStream ? INT64_MIN : 0});
    }
    graph_.first_edge = {0};
  }

  // In order of `start`. Edges are those that hold this task.
  TaskId Add(std::uint16_t lane, TaskKind kind, Nanos start, Nanos duration,
             const std::vector<Edge>& edges = {}, Nanos lag = 0) {
    Task task;
    task.start_ns = start;
    task.duration_ns = duration;
    task.lag_ns = lag;
    task.lane = lane;
    task.kind = kind;
    graph_.tasks.push_back(task);
    graph_.edges.insert(graph_.edges.end(), edges.begin(), edges.end());
    graph_.first_edge.push_back(static_cast<std::uint32_t>(graph_.edges.size()));
    graph_.before.push_back(last_[lane]);
    last_[lane] = static_cast<TaskId>(graph_.tasks.size() - 1);
    return last_[lane];
  }
  Graph& graph() { return graph_; }

 private:
  Graph graph_;
  std::vector<TaskId> last_;
};

}  // namespace hone::replay
