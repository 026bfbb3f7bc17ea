// SPDX-License-Identifier: Apache-2.0
// launch-bound: a step is launched as a whole (a CUDA graph), or by compiled code with few calls.
#include <fmt/format.h>

#include "replay/edits/edits.h"

namespace hone::replay {
namespace {

// Host time of a launch and the code before it that is left: a graph leaves nothing but its own
// launch; compiled code without graphs launches about half as much.
constexpr Range3 kHostLeft = {0.5, 0.02, 0.0};
// Between kernels of a graph. Measured on an H200: 1.4 µs in a chain of tiny kernels, 0.4 to 0.5
// in decoding and inference graphs.
constexpr Range3 kGraphTurnaroundNs = {1'500, 1'200, 500};
// Code without operators that takes longer than this is not dispatch, and no graph captures it.
constexpr Nanos kOwnCode = 200 * kMicrosecond;

class LaunchBound : public Edit {
 public:
  void Apply(const Model& model, Guess guess, Plan& plan) const override {
    const Graph& graph = model.graph();
    for (TaskId t = 0; t < graph.tasks.size(); ++t) {
      const Task& task = graph.tasks[t];
      if (task.kind == TaskKind::kHost || task.kind == TaskKind::kLaunch) {
        const bool own = task.ops == 0 && task.calls == 0 && task.duration_ns > kOwnCode;
        if (own) continue;
        plan.duration_ns[t] =
            static_cast<Nanos>(kHostLeft.At(guess) * static_cast<double>(plan.duration_ns[t]));
      } else if (task.kind == TaskKind::kKernel && guess != Guess::kLeast) {
        // Nobody launches it any more: it follows the one before it.
        const auto turnaround = static_cast<Nanos>(kGraphTurnaroundNs.At(guess));
        if (plan.lag_ns[t] > turnaround) plan.lag_ns[t] = turnaround;
      }
    }
  }

  std::string Scope(const Model& model) const override {
    std::size_t launches = 0;
    for (const Task& task : model.graph().tasks) launches += task.kind == TaskKind::kLaunch;
    return fmt::format("{:.0f} launch calls a step become one",
                       static_cast<double>(launches) / static_cast<double>(model.graph().steps));
  }
};

}  // namespace

FoundEdit FindLaunchBound(const Model& model) {
  std::size_t launches = 0;
  for (const Task& task : model.graph().tasks) launches += task.kind == TaskKind::kLaunch;
  if (launches < 10 * model.graph().steps) {
    return FoundEdit::Absent("a step has fewer than ten launch calls");
  }
  return FoundEdit(std::make_unique<LaunchBound>());
}

}  // namespace hone::replay
