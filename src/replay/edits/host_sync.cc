// SPDX-License-Identifier: Apache-2.0
// host-sync: the host goes on launching instead of waiting for the device in the step.
#include <fmt/format.h>

#include <vector>

#include "replay/edits/edits.h"
#include "replay/edits/waits.h"

namespace hone::replay {
namespace {

class HostSync : public Edit {
 public:
  explicit HostSync(std::vector<TaskId> waits) : waits_(std::move(waits)) {}

  void Apply(const Model& /*model*/, Guess /*guess*/, Plan& plan) const override {
    for (const TaskId wait : waits_) plan.DropWait(wait);
  }

  std::string Scope(const Model& model) const override {
    return fmt::format("{:.1f} waits a step", static_cast<double>(waits_.size()) /
                                                  static_cast<double>(model.graph().steps));
  }

 private:
  const std::vector<TaskId> waits_;
};

}  // namespace

FoundEdit FindHostSync(const Model& model) {
  const Graph& graph = model.graph();
  std::vector<TaskId> waits;
  for (TaskId t = 0; t < graph.tasks.size(); ++t) {
    if (ReasonOf(model, graph.tasks[t]) == WaitReason::kResult) waits.push_back(t);
  }
  if (waits.empty()) return FoundEdit::Absent("no call in the steps waits for a result");
  return FoundEdit(std::make_unique<HostSync>(std::move(waits)));
}

}  // namespace hone::replay
