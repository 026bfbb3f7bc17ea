// SPDX-License-Identifier: Apache-2.0
#include "replay/simulate.h"

#include <algorithm>
#include <deque>
#include <map>
#include <utility>

namespace hone::replay {
namespace {

// After the first repetition the lanes have settled into their order; the two after it give the
// pace.
constexpr std::size_t kRepetitions = 4;
// Launches that wait in a stream's queue; the next one waits until the device has begun the oldest.
// 1,022 were seen in every trace of a program that its device binds (H200).
constexpr std::size_t kQueueRoom = 1022;
// Batches that wait for the program: two a worker is torch's default, and two workers the fewest.
constexpr std::size_t kAhead = 4;

class Simulation {
 public:
  Simulation(const Graph& graph, const Plan& plan)
      : graph_(graph),
        plan_(plan),
        start_(graph.tasks.size()),
        end_(graph.tasks.size()),
        pair_(graph.tasks.size(), kNoTask),
        queues_(graph.lanes.size()) {
    lane_end_.reserve(graph.lanes.size());
    for (const Lane& lane : graph.lanes) lane_end_.push_back(lane.ready_ns);
    PairLaunches();
  }

  void Pass() {
    if (graph_.laps > 0 && passes_ > 0) {
      earlier_ends_.push_back(end_);
      if (earlier_ends_.size() > graph_.laps) earlier_ends_.pop_front();
    }
    ++passes_;
    for (TaskId t = 0; t < graph_.tasks.size(); ++t) {
      Nanos& lane_end = lane_end_[graph_.tasks[t].lane];
      if (plan_.AheadOf(t) > 0) {
        CopyAhead(t, lane_end);
        continue;
      }
      Nanos start = Allowed(t, lane_end == INT64_MIN ? INT64_MIN : lane_end + plan_.lag_ns[t]);
      if (plan_.apart_ns[t] > 0) start = TakeMade(start, plan_.apart_ns[t]);
      const bool work = graph_.lanes[graph_.tasks[t].lane].kind == LaneKind::kStream;
      if (work) {
        Begin(t, start);
      } else if (graph_.tasks[t].kind == TaskKind::kLaunch) {
        start = std::max(start, RoomFor(t));
      }
      start_[t] = start;
      end_[t] = start + plan_.duration_ns[t];
      lane_end = end_[t];
    }
  }

  Nanos HostEnd() const { return lane_end_[0]; }
  // Of the thread that makes the steps and of the devices: other threads and workers run on.
  Nanos End() const { return std::max(HostEnd(), DevicesEnd()); }
  Nanos DevicesEnd() const {
    Nanos end = graph_.begin_ns;
    for (std::size_t lane = 1; lane < lane_end_.size(); ++lane) {
      if (graph_.lanes[lane].kind == LaneKind::kStream) end = std::max(end, lane_end_[lane]);
    }
    return end;
  }

  Times TakeTimes() && { return {std::move(start_), std::move(end_)}; }

 private:
  // No earlier than `start` and every edge that counts; where nothing holds it, as measured.
  Nanos Allowed(TaskId t, Nanos start) const {
    if (plan_.held[t] != Held::kByNone) {
      for (const Edge& edge : graph_.EdgesOf(t)) {
        if (!plan_.Holds(graph_, t, edge)) continue;
        start = std::max(start, Until(edge));
      }
    }
    return start == INT64_MIN ? graph_.tasks[t].start_ns : start;
  }

  // The stream goes on without it; what the copy waited for on other streams holds what follows.
  void CopyAhead(TaskId t, Nanos& lane_end) {
    std::vector<Nanos>& copied = copied_[graph_.lanes[graph_.tasks[t].lane].device];
    Nanos start = copied.empty() ? INT64_MIN : copied.back();
    for (const Edge& edge : graph_.EdgesOf(t)) {
      if (!plan_.Holds(graph_, t, edge)) continue;
      const bool event = graph_.lanes[graph_.tasks[edge.from].lane].kind == LaneKind::kStream;
      Nanos& held = event ? lane_end : start;
      held = std::max(held, Until(edge));
    }
    start_[t] = start == INT64_MIN ? graph_.tasks[t].start_ns : start;
    end_[t] = start_[t] + plan_.duration_ns[t];
    copied.push_back(end_[t]);
    const std::size_t ahead = plan_.AheadOf(t);
    if (copied.size() > ahead) lane_end = std::max(lane_end, *(copied.rbegin() + ahead));
  }

  // Of a stream: how many launches went into its queue, and when the device began with each.
  struct Queue {
    std::size_t launches = 0;
    std::vector<Nanos> begun;
  };

  // A launch and the first work that it queued name each other.
  void PairLaunches() {
    for (TaskId t = 0; t < graph_.tasks.size(); ++t) {
      if (graph_.lanes[graph_.tasks[t].lane].kind != LaneKind::kStream) continue;
      for (const Edge& edge : graph_.EdgesOf(t)) {
        if (edge.laps > 0 || graph_.tasks[edge.from].kind != TaskKind::kLaunch) continue;
        if (pair_[edge.from] != kNoTask) continue;
        pair_[edge.from] = t;
        pair_[t] = edge.from;
      }
    }
  }
  // Calls that the plan took away queue nothing, and copies beside a stream leave its queue.
  bool Queues(TaskId call) const {
    if (plan_.AheadOf(pair_[call]) > 0) return false;
    return plan_.duration_ns[call] > 0 || graph_.tasks[call].duration_ns == 0;
  }
  // When there is room for what the call launches.
  Nanos RoomFor(TaskId call) {
    if (pair_[call] == kNoTask || !Queues(call)) return INT64_MIN;
    Queue& queue = queues_[graph_.tasks[pair_[call]].lane];
    const std::size_t launch = queue.launches++;
    if (launch < kQueueRoom || launch - kQueueRoom >= queue.begun.size()) return INT64_MIN;
    return queue.begun[launch - kQueueRoom];
  }
  void Begin(TaskId work, Nanos start) {
    if (pair_[work] == kNoTask || !Queues(pair_[work])) return;
    queues_[graph_.tasks[work].lane].begun.push_back(start);
  }

  // What is made beside the lanes is made in turn, up to kAhead of what was taken.
  Nanos TakeMade(Nanos start, Nanos apart) {
    if (made_ != INT64_MIN) {
      if (taken_.size() >= kAhead) made_ = std::max(made_, taken_[taken_.size() - kAhead]);
      made_ += apart;
      start = std::max(start, made_);
    } else {
      made_ = start;
    }
    taken_.push_back(start);
    return start;
  }

  Nanos Until(const Edge& edge) const {
    return edge.laps > 0 ? FromBefore(edge) : From(edge) + edge.lag_ns;
  }
  Nanos From(const Edge& edge) const {
    return edge.from_start ? start_[edge.from] : end_[edge.from];
  }
  Nanos FromBefore(const Edge& edge) const {
    if (edge.laps > earlier_ends_.size()) return passes_ == 1 ? edge.ready_ns : INT64_MIN;
    return earlier_ends_[earlier_ends_.size() - edge.laps][edge.from] + edge.lag_ns;
  }

  const Graph& graph_;
  const Plan& plan_;
  std::size_t passes_ = 0;
  std::deque<std::vector<Nanos>> earlier_ends_;  // of the passes before, the last one last
  std::vector<Nanos> start_, end_;
  std::vector<Nanos> lane_end_;
  std::vector<TaskId> pair_;   // by task: its launch, or what it launches first; kNoTask: none
  std::vector<Queue> queues_;  // by lane
  // By device, which has an engine for them: ends of the copies that run beside their streams.
  std::map<std::uint32_t, std::vector<Nanos>> copied_;
  Nanos made_ = INT64_MIN;    // when the last thing that is taken was made
  std::vector<Nanos> taken_;  // starts of the tasks that took one
};

}  // namespace

Nanos ReplayWindow(const Graph& graph, const Plan& plan) {
  Simulation simulation(graph, plan);
  simulation.Pass();
  const bool host = std::any_of(graph.tasks.begin(), graph.tasks.end(),
                                [](const Task& task) { return task.lane == 0; });
  return (host && !graph.device_clock ? simulation.HostEnd() : simulation.DevicesEnd()) -
         graph.begin_ns;
}

double SteadyStep(const Graph& graph, const Plan& plan) {
  Simulation simulation(graph, plan);
  Nanos before = 0;
  const std::size_t passes = kRepetitions + graph.laps;
  for (std::size_t pass = 0; pass < passes; ++pass) {
    if (pass == passes - 2) before = simulation.End();
    simulation.Pass();
  }
  return static_cast<double>(simulation.End() - before) / (2.0 * static_cast<double>(graph.steps));
}

Times ReplayOnce(const Graph& graph, const Plan& plan) {
  Simulation simulation(graph, plan);
  simulation.Pass();
  return std::move(simulation).TakeTimes();
}

}  // namespace hone::replay
