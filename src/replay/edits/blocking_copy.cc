// SPDX-License-Identifier: Apache-2.0
// blocking-copy: the host goes on while a copy out of pinned memory runs.
#include <fmt/format.h>

#include <vector>

#include "base/text.h"
#include "replay/edits/edits.h"
#include "replay/edits/waits.h"

namespace hone::replay {
namespace {

class BlockingCopy : public Edit {
 public:
  explicit BlockingCopy(std::vector<TaskId> waits) : waits_(std::move(waits)) {}

  void Apply(const Model& /*model*/, Guess /*guess*/, Plan& plan) const override {
    for (const TaskId wait : waits_) plan.DropWait(wait);
  }

  std::string Scope(const Model& model) const override {
    return fmt::format(
        "the host does not wait for {} copies a step",
        Fixed(static_cast<double>(waits_.size()) / static_cast<double>(model.graph().steps), 1));
  }

 private:
  const std::vector<TaskId> waits_;
};

}  // namespace

FoundEdit FindBlockingCopy(const Model& model) {
  const Graph& graph = model.graph();
  std::vector<TaskId> waits;
  for (TaskId t = 0; t < graph.tasks.size(); ++t) {
    if (ReasonOf(model, graph.tasks[t]) == WaitReason::kPinnedCopy) waits.push_back(t);
  }
  if (waits.empty()) {
    return FoundEdit::Absent("the host waits for no copy out of pinned memory in the steps");
  }
  return FoundEdit(std::make_unique<BlockingCopy>(std::move(waits)));
}

}  // namespace hone::replay
