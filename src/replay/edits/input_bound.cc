// SPDX-License-Identifier: Apache-2.0
// input-bound: batches are ready when the step asks for them.
#include <fmt/format.h>

#include <algorithm>

#include "replay/edits/edits.h"

namespace hone::replay {
namespace {

// What taking a ready batch from a worker costs the main thread. Measured with a ready queue: 0.1
// ms pinned, up to 1 ms for a batch of 40 MB that the main thread still has to map.
constexpr Range3 kReadyFetchNs = {1.0e6, 0.4e6, 0.1e6};

class InputBound : public Edit {
 public:
  void Apply(const Model& model, Guess guess, Plan& plan) const override {
    const Graph& graph = model.graph();
    trace::RowId fetch = trace::kNoRow;
    for (TaskId t = 0; t < graph.tasks.size(); ++t) {
      const Task& task = graph.tasks[t];
      if (task.kind != TaskKind::kInput) continue;
      const bool worker = graph.lanes[task.lane].kind == LaneKind::kWorkers;
      const bool first = task.row != fetch;
      const auto ready = static_cast<Nanos>(kReadyFetchNs.At(guess));
      if (worker) {
        plan.duration_ns[t] = 0;
        continue;
      }
      // A fetch may be cut into pieces by calls inside it; only one of them pays.
      const Nanos measured = std::max(task.duration_ns, model.trace().host.duration_ns[task.row]);
      plan.duration_ns[t] = first ? std::min(ready, measured) : 0;
      fetch = task.row;
    }
  }

  std::string Scope(const Model& model) const override {
    Nanos waited = 0;
    const Graph& graph = model.graph();
    for (const Task& task : graph.tasks) {
      if (task.kind == TaskKind::kInput && graph.lanes[task.lane].kind == LaneKind::kThread) {
        waited += model.trace().host.duration_ns[task.row];
      }
    }
    return fmt::format("{:.2f} ms a step of fetching batches",
                       static_cast<double>(waited) / 1e6 / static_cast<double>(graph.steps));
  }
};

}  // namespace

FoundEdit FindInputBound(const Model& model) {
  const Graph& graph = model.graph();
  const bool any = std::any_of(graph.tasks.begin(), graph.tasks.end(),
                               [](const Task& task) { return task.kind == TaskKind::kInput; });
  if (!any) return FoundEdit::Absent("no loader was seen fetching a batch in the steps");
  return FoundEdit(std::make_unique<InputBound>());
}

}  // namespace hone::replay
