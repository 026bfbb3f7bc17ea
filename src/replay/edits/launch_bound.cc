// SPDX-License-Identifier: Apache-2.0
// launch-bound: a step is launched as a whole (a CUDA graph), or by compiled code with few calls.
#include <fmt/format.h>

#include <algorithm>

#include "base/torch_scope.h"
#include "replay/edits/edits.h"
#include "replay/edits/host_cut.h"
#include "replay/edits/host_pauses.h"
#include "replay/edits/optimizer_kernels.h"

namespace hone::replay {
namespace {

// Host time of a launch and the code before it that is left: a graph leaves nothing but its own
// launch; compiled code without graphs launches about half as much.
constexpr Range3 kHostLeft = {0.5, 0.02, 0.0};
// Between kernels of a graph, on top of their times as recorded one by one. Whole steps as graphs
// without a recorder on an H200 took as long as their kernels' times and 0.07 us for each of 372,
// 0.1 for each of 90, no more at all for 150, 0.3 for 346, 0.36 for 556, 0.46 for 1,987 and 0.5 for
// 181; under a recorder 0.4 to 1.4 lie between them.
constexpr Range3 kGraphTurnaroundNs = {1'000, 200, 0};
// In a graph Adam must count its steps on the device (capturable): where it works parameter by
// parameter, its seven kernels for one get eight more over single numbers.
constexpr double kCapturablePerKernelNs = 1'500.0 * 8 / 7;
// Code without operators that takes longer than this is not dispatch, and no graph captures it;
// that of an optimizer, which goes through its parameters, is captured. A thread that waited for
// the backward pass takes some time until it begins.
constexpr Nanos kOwnCode = 200 * kMicrosecond, kUntilOptimizer = 500 * kMicrosecond;
// Where the way to a launch begins with such code, the task has operators too. The profiler's own
// step takes some hundred microseconds there, which go with it.
constexpr Nanos kOwnCodeBefore = kMillisecond;

Nanos UntilOptimizer(Nanos begin_ns, Nanos length_ns) {
  return begin_ns + std::min(length_ns, kUntilOptimizer);
}

class LaunchBound : public Edit {
 public:
  LaunchBound(bool adam, HostCut optimizer, HostCut own_code)
      : adam_(adam), optimizer_(std::move(optimizer)), own_code_(std::move(own_code)) {}

  void Apply(const Model& model, Guess guess, Plan& plan) const override {
    const Graph& graph = model.graph();
    Plan launching(graph);
    own_code_.Apply(graph, 1.0, launching);
    for (TaskId t = 0; t < graph.tasks.size(); ++t) {
      const Task& task = graph.tasks[t];
      if (task.kind == TaskKind::kHost || task.kind == TaskKind::kLaunch) {
        if (IsOwnCode(task)) continue;
        // What gets to a launch goes, and the program's own code before it stays, unless another
        // edit has taken that already.
        const double keep = kHostLeft.At(guess);
        const Nanos loading = std::min(graph.LoadingOf(t), plan.duration_ns[t]);
        const auto planned = static_cast<double>(plan.duration_ns[t] - loading);
        const auto dispatch = static_cast<double>(launching.duration_ns[t] - loading);
        plan.duration_ns[t] =
            loading + static_cast<Nanos>(std::max(keep * planned, planned - (1 - keep) * dispatch));
      } else if (task.kind == TaskKind::kKernel && guess != Guess::kLeast) {
        // Nobody launches it any more: it follows the one before it.
        const auto turnaround = static_cast<Nanos>(kGraphTurnaroundNs.At(guess));
        if (plan.lag_ns[t] > turnaround) plan.lag_ns[t] = turnaround;
        if (CountsItsSteps(model, task) && plan.duration_ns[t] > 0) {
          plan.lag_ns[t] += static_cast<Nanos>(kCapturablePerKernelNs);
        }
      }
    }
  }

  std::string Scope(const Model& model) const override {
    std::size_t launches = 0;
    for (const Task& task : model.graph().tasks) launches += task.kind == TaskKind::kLaunch;
    return fmt::format("{:.0f} launch calls a step become one",
                       static_cast<double>(launches) / static_cast<double>(model.graph().steps));
  }

 private:
  bool IsOwnCode(const Task& task) const {
    return task.ops == 0 && task.calls == 0 && task.duration_ns > kOwnCode &&
           !optimizer_.Contains(task.lane, UntilOptimizer(task.start_ns, task.duration_ns));
  }
  bool CountsItsSteps(const Model& model, const Task& kernel) const {
    return adam_ && model.InOptimizer(kernel.row) &&
           !ServesManyParameters(model.trace().DeviceName(kernel.row));
  }

  const bool adam_;
  const HostCut optimizer_, own_code_;
};

bool IsAdamStep(std::string_view annotation) {
  return annotation.starts_with(kOptimizerStep) &&
         annotation.find("Adam") != std::string_view::npos;
}

HostCut OptimizerSpans(const Model& model) {
  const trace::HostSlices& host = model.trace().host;
  std::vector<HostSpan> spans;
  for (const trace::RowId row :
       model.HostRows(trace::SliceKind::kAnnotation,
                      [](std::string_view name) { return name.starts_with(kOptimizerZeroGrad); })) {
    spans.push_back({model.LaneOf(row), {host.start_ns[row], host.end_ns(row)}});
  }
  for (const OptimizerStep& step : model.optimizer_steps()) {
    spans.push_back({model.LaneOf(step.row), {step.begin_ns, host.end_ns(step.row)}});
  }
  return HostCut(model.graph(), std::move(spans));
}

// Pauses between operators that no dispatching explains: a task that gets to a launch may hold one,
// and then a few operators. Where nobody knows what is a pause: none.
HostCut OwnCode(const Model& model, const HostCut& optimizer) {
  std::vector<HostSpan> spans;
  if (model.graph().lanes[0].row >= model.trace().threads.size() || !model.calls().any()) return {};
  for (const Pause& pause : CollectPauses(model, kOwnCodeBefore, {})) {
    const trace::Interval& span = pause.span;
    if (optimizer.Contains(0, UntilOptimizer(span.begin_ns, span.length()))) continue;
    spans.push_back({0, span});
  }
  return HostCut(model.graph(), std::move(spans));
}

}  // namespace

FoundEdit FindLaunchBound(const Model& model) {
  std::size_t launches = 0;
  for (const Task& task : model.graph().tasks) launches += task.kind == TaskKind::kLaunch;
  if (launches < 10 * model.graph().steps) {
    return FoundEdit::Absent("a step has fewer than ten launch calls");
  }
  const bool adam = !model.HostRows(trace::SliceKind::kAnnotation, IsAdamStep).empty();
  HostCut optimizer = OptimizerSpans(model);
  HostCut own_code = OwnCode(model, optimizer);
  return FoundEdit(std::make_unique<LaunchBound>(adam, std::move(optimizer), std::move(own_code)));
}

}  // namespace hone::replay
