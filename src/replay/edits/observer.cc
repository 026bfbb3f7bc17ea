// SPDX-License-Identifier: Apache-2.0
// observer-effect: what the recorder itself adds to the host's time, taken out again;
// torch.profiler's cost is here, that of hone's own recorder in hone_observer.h.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "replay/edits/edits.h"
#include "replay/edits/hone_observer.h"

namespace hone::replay {
namespace {

// Share of the host's time for operators and calls that is torch.profiler's own, where the trace
// itself does not tell. A share and not microseconds: a slower host pays more for both. From pairs
// of bare and profiled runs of host-bound programs on an H200 (docs/design/observer.md has the
// tables): 0.28 to 0.53 with CPU and CUDA activities only, median 0.43; 0.31 to 0.66 with shapes,
// stacks and memory, and down to 0.15 in a trace recorded on a quiet host.
constexpr Range3 kLight = {0.26, 0.43, 0.56};
constexpr Range3 kFull = {0.15, 0.32, 0.65};
// Where it has enough operators inside operators, it does: between the start of one and that of its
// first child lie dispatch and the child's record, shapes included. What an operator, a call and a
// Python frame cost, in such gaps. Of 22 host-bound light traces 20 paid 0.65 to 1.34 times the
// likely cost, of 21 with shapes 19 0.65 to 1.5 times (shapes are written down inside the gap, and
// make it longer by more than the rest of the record), of 8 with stacks 7 0.75 to 1.3 times.
struct Rates {
  Range3 op, call, frame;
};
constexpr Rates kLightRates = {{3.3, 4.6, 6.4}, {1.1, 1.7, 2.4}, {0, 0, 0}};
constexpr Rates kShapesRates = {{2.5, 3.8, 6.0}, {0.8, 1.4, 2.2}, {0, 0, 0}};
constexpr Rates kStacksRates = {{2.4, 3.4, 5.0}, {0.7, 1.2, 2.0}, {0.5, 1.2, 2.4}};
// An operator that computes on the host pays for its own record alone; one of a device makes calls
// that are watched and not written down (cudaGetDevice and kin), two to three gaps of them. CPU
// traces of 13 programs: 1.07 to 3.5 gaps an operator, median 2.4; 0 to 3.5 a frame, median 1.3.
constexpr Rates kHostRates = {{1.0, 2.2, 3.5}, {0, 0, 0}, {0.3, 1.4, 2.8}};
// More operators than this for each call, and longer ones, compute on the host: models launch every
// 2 to 8, and a gradient that is only handed on takes 2 us as recorded.
constexpr std::uint32_t kMostOpsOfACall = 50;
constexpr Nanos kComputes = 5 * kMicrosecond;
// A loader's workers that kept up with the recorded program are known to make batches at that pace,
// and at no higher one. What goes to the recorder then shows in the step in part: a ResNet-50 with
// 12 workers lost 60 %, 72 % and all of it without the recorder in three recordings, and between 12
// and 79 % in a fourth, from bare run to bare run.
constexpr Range3 kSeenWithWorkers = {0.1, 0.6, 1.0};
// A fifth of the gaps are shorter than the one that counts: longer ones have the program's own code
// in them. Fewer than a hundred tell too little.
constexpr std::size_t kGapPart = 5, kEnoughGaps = 100;
// Something is left of every stretch of code. A bare launch takes over half of a recorded one: 5.1
// of 7.1 us under CUPTI alone (docs/design/recording.md).
constexpr double kMostOfCode = 0.85, kMostOfLaunch = 0.5;
// Code between calls that takes longer than this for each event in it is the program's own.
constexpr Nanos kDispatch = 50 * kMicrosecond;

std::uint32_t EventsOf(const Task& task) { return task.ops + task.calls + task.python; }

// Operators of the host, not of a device: fetching a batch, preparing data, all of a CPU's program.
bool ComputesOnHost(const Task& task) {
  return task.kind == TaskKind::kInput ||
         (task.kind == TaskKind::kHost && task.duration_ns > task.ops * kComputes &&
          task.ops > kMostOpsOfACall * std::max<std::uint32_t>(task.calls, 1));
}

bool IsDispatch(const Task& task) {
  if (task.kind == TaskKind::kLaunch) return task.duration_ns < kDispatch;
  const std::uint32_t events = EventsOf(task);
  return task.kind == TaskKind::kHost && events > 0 && task.duration_ns < events * kDispatch;
}

// What one setting of torch.profiler costs. Shares, because an operator's record is written at its
// end too, in another task than the one it begins in.
struct Cost {
  double code_share = 0, launch_share = 0;      // of dispatch and of calls that launch
  double op_ns = 0, call_ns = 0, frame_ns = 0;  // in code that takes longer
  double host_op_ns = 0, host_frame_ns = 0;     // where operators compute on the host
};
using Costs = std::array<Cost, 3>;  // by Guess

constexpr std::array<Guess, 3> kGuesses = {Guess::kLeast, Guess::kLikely, Guess::kMost};

// What the host did in the replayed steps, waits and long stretches of Python left out.
struct Dispatch {
  explicit Dispatch(const Graph& graph) {
    for (const Task& task : graph.tasks) {
      if (!IsDispatch(task)) continue;
      if (ComputesOnHost(task)) {
        host_ns += static_cast<double>(task.duration_ns);
        host_events += EventsOf(task);
        host_frames += task.python;
        continue;
      }
      const bool launch = task.kind == TaskKind::kLaunch;
      (launch ? launch_ns : code_ns) += static_cast<double>(task.duration_ns);
      events += launch ? 0 : EventsOf(task);
      launches += launch ? 1 : 0;
      ops += task.ops;
      calls += task.calls;
      frames += task.python;
    }
  }

  double code_ns = 0, launch_ns = 0;
  double host_ns = 0, host_events = 0, host_frames = 0;  // of operators that compute on the host
  double events = 0, launches = 0, ops = 0, calls = 0, frames = 0;  // calls: with those that launch
};

Costs CostsByShare(const Dispatch& dispatch, Range3 range) {
  const double time = dispatch.code_ns + dispatch.launch_ns + dispatch.host_ns;
  const double events = dispatch.events + dispatch.host_events;
  const double event_ns = events > 0 ? time / events : 0;
  Costs costs;
  for (const Guess guess : kGuesses) {
    const double share = range.At(guess);
    const double each_ns = share * event_ns;
    costs[static_cast<std::size_t>(guess)] = {share,   share,   each_ns, each_ns,
                                              each_ns, each_ns, each_ns};
  }
  return costs;
}

// From the start of an operator to that of the first one inside it, nothing else recorded between
// them. 0: the replayed steps have too few. Linear in the trace's rows.
double GapNs(const Model& model) {
  const trace::HostSlices& host = model.trace().host;
  std::vector<Nanos> gaps;
  for (trace::RowId i = 1; i < host.size(); ++i) {
    if (host.kind[i] != trace::SliceKind::kOp || host.kind[i - 1] != trace::SliceKind::kOp)
      continue;
    if (host.parent[i] != i - 1 || !model.InWindow(i - 1)) continue;
    gaps.push_back(host.start_ns[i] - host.start_ns[i - 1]);
  }
  if (gaps.size() < kEnoughGaps) return 0;
  const auto chosen = gaps.begin() + static_cast<std::ptrdiff_t>(gaps.size() / kGapPart);
  std::nth_element(gaps.begin(), chosen, gaps.end());
  return static_cast<double>(*chosen);
}

Costs CostsByGap(const Dispatch& dispatch, const Rates& rates, double gap_ns) {
  const double queries = dispatch.calls - std::min(dispatch.calls, dispatch.launches);
  const auto part = [](double cost, double of, double most) {
    return of > 0 ? std::min(cost / of, most) : 0;
  };
  Costs costs;
  for (const Guess guess : kGuesses) {
    Cost& cost = costs[static_cast<std::size_t>(guess)];
    cost.op_ns = rates.op.At(guess) * gap_ns;
    cost.call_ns = rates.call.At(guess) * gap_ns;
    cost.frame_ns = rates.frame.At(guess) * gap_ns;
    cost.host_op_ns = kHostRates.op.At(guess) * gap_ns;
    cost.host_frame_ns = kHostRates.frame.At(guess) * gap_ns;
    cost.code_share =
        part(cost.op_ns * dispatch.ops + cost.call_ns * queries + cost.frame_ns * dispatch.frames,
             dispatch.code_ns, kMostOfCode);
    cost.launch_share = part(cost.call_ns * dispatch.launches, dispatch.launch_ns, kMostOfLaunch);
  }
  return costs;
}

class Observer : public Edit {
 public:
  explicit Observer(const Model& model) {
    const trace::TraceInfo& info = model.trace().info;
    const Dispatch dispatch(model.graph());
    no_device_ = dispatch.launches == 0;
    const std::vector<Lane>& lanes = model.graph().lanes;
    workers_keep_up_ =
        model.facts().loader && model.facts().loader->mode == analyze::LoaderMode::kWorkers &&
        std::none_of(lanes.begin(), lanes.end(),
                     [](const Lane& lane) { return lane.kind == LaneKind::kWorkers; });
    const bool stacks = info.with_stack == 1 || dispatch.frames + dispatch.host_frames > 0;
    const double gap_ns = GapNs(model);
    const bool shapes = info.record_shapes == 1 || model.facts().trust.present.shapes;
    if (gap_ns > 0) {
      const Rates& rates = stacks ? kStacksRates : shapes ? kShapesRates : kLightRates;
      costs_ = CostsByGap(dispatch, rates, gap_ns);
    } else {
      const bool full = stacks || info.record_shapes == 1 || info.profile_memory == 1;
      costs_ = CostsByShare(dispatch, full ? kFull : kLight);
    }
  }

  void Apply(const Model& model, Guess guess, Plan& plan) const override {
    const Graph& graph = model.graph();
    const double seen = workers_keep_up_ ? kSeenWithWorkers.At(guess) : 1;
    for (TaskId t = 0; t < graph.tasks.size(); ++t) {
      const Task& task = graph.tasks[t];
      if (task.kind == TaskKind::kWait && model.ByProfiler(task.row)) plan.DropWait(t);
      plan.duration_ns[t] -=
          std::min(plan.duration_ns[t], static_cast<Nanos>(seen * CostOf(task, guess)));
    }
  }

  std::string Scope(const Model& model) const override {
    double cost = 0;
    for (const Task& task : model.graph().tasks) cost += CostOf(task, Guess::kLikely);
    return fmt::format("about {:.1f} ms of host time a step go to the recorder",
                       cost / 1e6 / static_cast<double>(model.graph().steps));
  }

 private:
  double CostOf(const Task& task, Guess guess) const {
    const Cost& cost = costs_[static_cast<std::size_t>(guess)];
    const auto length = static_cast<double>(task.duration_ns);
    if (ComputesOnHost(task) || (no_device_ && task.kind == TaskKind::kHost)) {
      return std::min(kMostOfCode * length,
                      cost.host_op_ns * task.ops + cost.host_frame_ns * task.python);
    }
    const double most =
        length * (task.kind == TaskKind::kLaunch ? cost.launch_share : cost.code_share);
    if (IsDispatch(task)) return most;
    // Long code pays for the events in it, no more.
    return std::min(
        most, cost.op_ns * task.ops + cost.call_ns * task.calls + cost.frame_ns * task.python);
  }

  bool no_device_ = false, workers_keep_up_ = false;
  Costs costs_;
};

}  // namespace

FoundEdit FindObserver(const Model& model) {
  const trace::TraceInfo& info = model.trace().info;
  if (info.format == trace::Format::kHone) {
    return FoundEdit(MakeHoneObserver(model));
  }
  if (info.format != trace::Format::kKineto) {
    return FoundEdit::Absent("the cost of this recorder has not been calibrated");
  }
  return FoundEdit(std::make_unique<Observer>(model));
}

}  // namespace hone::replay
