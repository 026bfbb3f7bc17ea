// SPDX-License-Identifier: Apache-2.0
// observer-effect: what the recorder itself adds to the host's time, taken out again.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "replay/edits/edits.h"

namespace hone::replay {
namespace {

// Host time that torch.profiler adds, in nanoseconds a recorded operator, API call and Python
// frame. Calibrated on an H200 with a 16-core host from pairs of bare and profiled runs of
// host-bound programs: docs/design/observer.md has the table and the spread.
struct Costs {
  Range3 op, call, python;
};
constexpr Costs kLight = {{700, 1'400, 2'200}, {2'000, 4'000, 6'000}, {300, 600, 1'000}};
// Shapes, stacks and memory events make each operator dearer.
constexpr Costs kFull = {{1'200, 2'400, 3'600}, {2'000, 4'000, 6'000}, {300, 600, 1'000}};
// Nothing real takes less than this share of its recorded time.
constexpr double kLeastLeft = 0.25;

class Observer : public Edit {
 public:
  explicit Observer(Costs costs) : costs_(costs) {}

  void Apply(const Model& model, Guess guess, Plan& plan) const override {
    const Graph& graph = model.graph();
    for (TaskId t = 0; t < graph.tasks.size(); ++t) {
      const Nanos cost = CostOf(graph.tasks[t], guess);
      if (cost == 0) continue;
      const auto least = static_cast<Nanos>(kLeastLeft * static_cast<double>(plan.duration_ns[t]));
      plan.duration_ns[t] = std::max(least, plan.duration_ns[t] - cost);
    }
  }

  std::string Scope(const Model& model) const override {
    double cost = 0;
    for (const Task& task : model.graph().tasks) {
      cost += static_cast<double>(CostOf(task, Guess::kLikely));
    }
    return fmt::format("about {:.1f} ms of host time a step go to the recorder",
                       cost / 1e6 / static_cast<double>(model.graph().steps));
  }

 private:
  Nanos CostOf(const Task& task, Guess guess) const {
    if (task.ops == 0 && task.calls == 0 && task.python == 0) return 0;
    return std::llround(task.ops * costs_.op.At(guess) + task.calls * costs_.call.At(guess) +
                        task.python * costs_.python.At(guess));
  }

  const Costs costs_;
};

}  // namespace

FoundEdit FindObserver(const Model& model) {
  const trace::TraceInfo& info = model.trace().info;
  if (info.format != trace::Format::kKineto) {
    return FoundEdit::Absent("the cost of this recorder has not been calibrated");
  }
  const bool full = info.record_shapes == 1 || info.with_stack == 1 || info.profile_memory == 1;
  return FoundEdit(std::make_unique<Observer>(full ? kFull : kLight));
}

}  // namespace hone::replay
