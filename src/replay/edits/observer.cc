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
// Recordings without stacks tell: between the start of an operator and that of its first child lie
// dispatch and the child's record, shapes included. What an operator and a call cost, in such gaps.
// Of 22 host-bound light traces 20 paid 0.65 to 1.34 times the likely cost, of 21 with shapes 19
// 0.65 to 1.5 times: shapes are written down inside the gap, and make it longer by more than the
// rest of the record.
struct Gaps {
  Range3 op, call;
};
constexpr Gaps kLightGaps = {{3.3, 4.6, 6.4}, {1.1, 1.7, 2.4}};
constexpr Gaps kShapesGaps = {{2.5, 3.8, 6.0}, {0.8, 1.4, 2.2}};
// A fifth of the gaps are shorter than the one that counts: longer ones have the program's own code
// in them. Fewer than a hundred tell too little.
constexpr std::size_t kGapPart = 5, kEnoughGaps = 100;
// Something is left of every stretch of code. A bare launch takes over half of a recorded one: 5.1
// of 7.1 us under CUPTI alone (docs/design/recording.md).
constexpr double kMostOfCode = 0.85, kMostOfLaunch = 0.5;
// Code between calls that takes longer than this for each event in it is the program's own.
constexpr Nanos kDispatch = 50 * kMicrosecond;

std::uint32_t EventsOf(const Task& task) { return task.ops + task.calls + task.python; }

bool IsDispatch(const Task& task) {
  if (task.kind == TaskKind::kLaunch) return task.duration_ns < kDispatch;
  const std::uint32_t events = EventsOf(task);
  return task.kind == TaskKind::kHost && events > 0 && task.duration_ns < events * kDispatch;
}

// What one setting of torch.profiler costs. Shares, because an operator's record is written at its
// end too, in another task than the one it begins in.
struct Cost {
  double code_share = 0, launch_share = 0;  // of dispatch and of calls that launch
  double op_ns = 0, call_ns = 0;            // in code that takes longer; op: or Python frame
};
using Costs = std::array<Cost, 3>;  // by Guess

constexpr std::array<Guess, 3> kGuesses = {Guess::kLeast, Guess::kLikely, Guess::kMost};

// What the host did in the replayed steps, waits and long stretches of Python left out.
struct Dispatch {
  explicit Dispatch(const Graph& graph) {
    for (const Task& task : graph.tasks) {
      if (!IsDispatch(task)) continue;
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
  double events = 0, launches = 0, ops = 0, calls = 0, frames = 0;  // calls: with those that launch
};

Costs CostsByShare(const Dispatch& dispatch, Range3 range) {
  const double time = dispatch.code_ns + dispatch.launch_ns;
  const double event_ns = dispatch.events > 0 ? time / dispatch.events : 0;
  Costs costs;
  for (const Guess guess : kGuesses) {
    const double share = range.At(guess);
    costs[static_cast<std::size_t>(guess)] = {share, share, share * event_ns, share * event_ns};
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

Costs CostsByGap(const Dispatch& dispatch, const Gaps& gaps, double gap_ns) {
  const double queries = dispatch.calls - std::min(dispatch.calls, dispatch.launches);
  const auto part = [](double cost, double of, double most) {
    return of > 0 ? std::min(cost / of, most) : 0;
  };
  Costs costs;
  for (const Guess guess : kGuesses) {
    Cost& cost = costs[static_cast<std::size_t>(guess)];
    cost.op_ns = gaps.op.At(guess) * gap_ns;
    cost.call_ns = gaps.call.At(guess) * gap_ns;
    cost.code_share =
        part(cost.op_ns * dispatch.ops + cost.call_ns * queries, dispatch.code_ns, kMostOfCode);
    cost.launch_share = part(cost.call_ns * dispatch.launches, dispatch.launch_ns, kMostOfLaunch);
  }
  return costs;
}

class Observer : public Edit {
 public:
  explicit Observer(const Model& model) {
    const trace::TraceInfo& info = model.trace().info;
    const Dispatch dispatch(model.graph());
    // Gaps say nothing of what frames cost.
    const bool stacks = info.with_stack == 1 || dispatch.frames > 0;
    const double gap_ns = stacks ? 0 : GapNs(model);
    const bool shapes = info.record_shapes == 1 || model.facts().trust.present.shapes;
    if (gap_ns > 0) {
      costs_ = CostsByGap(dispatch, shapes ? kShapesGaps : kLightGaps, gap_ns);
    } else {
      const bool full = stacks || info.record_shapes == 1 || info.profile_memory == 1;
      costs_ = CostsByShare(dispatch, full ? kFull : kLight);
    }
  }

  void Apply(const Model& model, Guess guess, Plan& plan) const override {
    const Graph& graph = model.graph();
    for (TaskId t = 0; t < graph.tasks.size(); ++t) {
      const Task& task = graph.tasks[t];
      if (task.kind == TaskKind::kWait && model.ByProfiler(task.row)) plan.DropWait(t);
      plan.duration_ns[t] -= std::min(plan.duration_ns[t], static_cast<Nanos>(CostOf(task, guess)));
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
    const double share = task.kind == TaskKind::kLaunch ? cost.launch_share : cost.code_share;
    const double most = share * static_cast<double>(task.duration_ns);
    if (IsDispatch(task)) return most;
    // Long code pays for the events in it, no more.
    return std::min(most, cost.op_ns * (task.ops + task.python) + cost.call_ns * task.calls);
  }

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
