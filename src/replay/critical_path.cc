// SPDX-License-Identifier: Apache-2.0
#include "replay/critical_path.h"

#include <algorithm>

#include "replay/simulate.h"

namespace hone::replay {
namespace {

PathKind KindOf(TaskKind kind) {
  switch (kind) {
    case TaskKind::kHost:
    case TaskKind::kAllocate: return PathKind::kHost;
    case TaskKind::kInput: return PathKind::kInput;
    case TaskKind::kLaunch: return PathKind::kLaunch;
    case TaskKind::kWait: return PathKind::kSync;
    case TaskKind::kKernel: return PathKind::kCompute;
    case TaskKind::kCollective: return PathKind::kCommunication;
    case TaskKind::kCopy: return PathKind::kCopy;
  }
  return PathKind::kHost;
}

bool IsDevice(TaskKind kind) {
  return kind == TaskKind::kKernel || kind == TaskKind::kCollective || kind == TaskKind::kCopy;
}

// What a task waited for last.
struct Hold {
  TaskId by = kNoTask;
  Nanos lag_ns = 0;
  bool from_start = false;
  bool before_window = false;  // a repetition ago: the path leaves the window there
};

class PathFinder {
 public:
  PathFinder(const Graph& graph, const Plan& plan)
      : graph_(graph),
        plan_(plan),
        times_(ReplayOnce(graph, plan)),
        last_(graph.lanes.size(), kNoTask) {
    for (TaskId t = 0; t < graph.tasks.size(); ++t) {
      last_[graph.tasks[t].lane] = t;
    }
  }

  CriticalPath Find() {
    CriticalPath path;
    const auto add = [&](TaskId task, PathKind kind, Nanos length) {
      if (length <= 0) return;
      path.pieces.push_back({task, kind, length});
      path.total_ns[static_cast<std::size_t>(kind)] += length;
      path.length_ns += length;
    };
    bool whole = true;  // false: reached through its start, so its own time is not on the path
    for (TaskId at = Last(); at != kNoTask;) {
      const Task& task = graph_.tasks[at];
      if (whole) add(at, KindOf(task.kind), plan_.duration_ns[at]);
      const Hold hold = HoldOf(at);
      if (hold.before_window) {
        const Nanos waited = times_.start_ns[at] - graph_.window.begin_ns - hold.lag_ns;
        add(at, LagKind(task.kind, graph_.tasks[hold.by].kind), hold.lag_ns);
        add(hold.by, KindOf(graph_.tasks[hold.by].kind), waited);
        break;
      }
      if (hold.by == kNoTask) break;
      add(at, LagKind(task.kind, graph_.tasks[hold.by].kind), hold.lag_ns);
      whole = !hold.from_start;
      at = hold.by;
    }
    std::reverse(path.pieces.begin(), path.pieces.end());
    return path;
  }

 private:
  // The window ends when its thread is done and its devices have nothing left.
  TaskId Last() const {
    TaskId last = last_[0];
    for (std::size_t lane = 1; lane < last_.size(); ++lane) {
      if (last_[lane] == kNoTask || graph_.lanes[lane].kind != LaneKind::kStream) continue;
      if (last == kNoTask || times_.end_ns[last_[lane]] > times_.end_ns[last]) last = last_[lane];
    }
    return last;
  }

  Hold HoldOf(TaskId t) const {
    Hold hold{graph_.before[t], plan_.lag_ns[t], false};
    Nanos reached = hold.by == kNoTask ? INT64_MIN : times_.end_ns[hold.by] + hold.lag_ns;
    for (const Edge& edge : graph_.EdgesOf(t)) {
      if (!plan_.Holds(graph_, t, edge)) continue;
      if (edge.laps > 0) {
        if (edge.ready_ns <= reached) continue;
        hold = {edge.from, edge.lag_ns, false, true};
        reached = edge.ready_ns;
        continue;
      }
      const Nanos from = edge.from_start ? times_.start_ns[edge.from] : times_.end_ns[edge.from];
      if (hold.by != kNoTask && from + edge.lag_ns <= reached) continue;
      hold = {edge.from, edge.lag_ns, edge.from_start};
      reached = from + edge.lag_ns;
    }
    return hold;
  }

  static PathKind LagKind(TaskKind to, TaskKind from) {
    if (IsDevice(to)) return IsDevice(from) ? PathKind::kDeviceOverhead : PathKind::kLaunch;
    return IsDevice(from) ? PathKind::kSync : PathKind::kHost;
  }

  const Graph& graph_;
  const Plan& plan_;
  const Times times_;
  std::vector<TaskId> last_;  // of each lane
};

}  // namespace

const char* PathKindId(PathKind kind) {
  constexpr std::array<const char*, kPathKindCount> kIds = {
      "input", "host", "launch", "compute", "copy", "communication", "sync", "device-overhead"};
  return kIds[static_cast<std::size_t>(kind)];
}

const char* PathKindText(PathKind kind) {
  constexpr std::array<const char*, kPathKindCount> kTexts = {"waiting for data",
                                                              "host code",
                                                              "launch calls and their latency",
                                                              "GPU compute",
                                                              "copies",
                                                              "communication",
                                                              "returning from synchronizations",
                                                              "turn-around between kernels"};
  return kTexts[static_cast<std::size_t>(kind)];
}

CriticalPath FindCriticalPath(const Graph& graph, const Plan& plan) {
  if (graph.tasks.empty()) return {};
  return PathFinder(graph, plan).Find();
}

}  // namespace hone::replay
