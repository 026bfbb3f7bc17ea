// SPDX-License-Identifier: Apache-2.0
// allocator-churn: no memory is allocated from the driver or given back to it inside the steps.
#include <fmt/format.h>

#include <vector>

#include "base/text.h"
#include "replay/edits/edits.h"

namespace hone::replay {
namespace {

class AllocatorChurn : public Edit {
 public:
  AllocatorChurn(std::vector<TaskId> frees, std::vector<TaskId> allocations)
      : frees_(std::move(frees)), allocations_(std::move(allocations)) {}

  void Apply(const Model& /*model*/, Guess guess, Plan& plan) const override {
    for (const TaskId task : frees_) plan.RemoveWork(task);
    // Where nothing is given back the cache may still have to grow.
    if (guess == Guess::kLeast && !frees_.empty()) return;
    for (const TaskId task : allocations_) plan.RemoveWork(task);
  }

  std::string Scope(const Model& model) const override {
    Nanos total = 0;
    for (const auto* tasks : {&frees_, &allocations_}) {
      for (const TaskId task : *tasks) total += model.graph().tasks[task].duration_ns;
    }
    return fmt::format(
        "{} ms a step of allocating and freeing, without the waits",
        ThreeDigits(static_cast<double>(total) / 1e6 / static_cast<double>(model.graph().steps)));
  }

 private:
  const std::vector<TaskId> frees_, allocations_;
};

}  // namespace

FoundEdit FindAllocatorChurn(const Model& model) {
  const Graph& graph = model.graph();
  std::vector<TaskId> frees, allocations;
  for (TaskId t = 0; t < graph.tasks.size(); ++t) {
    if (graph.tasks[t].kind != TaskKind::kAllocate) continue;
    const bool frees_memory = model.calls()[graph.tasks[t].row] == analyze::ApiClass::kFree;
    (frees_memory ? frees : allocations).push_back(t);
  }
  if (frees.empty() && allocations.empty()) {
    return FoundEdit::Absent("no memory is allocated from the driver inside the steps");
  }
  return FoundEdit(std::make_unique<AllocatorChurn>(std::move(frees), std::move(allocations)));
}

}  // namespace hone::replay
