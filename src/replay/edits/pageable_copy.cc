// SPDX-License-Identifier: Apache-2.0
// pageable-copy: copies to the device leave pinned memory, and the host does not wait for them.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "replay/edits/edits.h"
#include "replay/edits/waits.h"

namespace hone::replay {
namespace {

// What an asynchronous copy call costs the host: 9 to 12 us for a batch, under the fullest
// recording up to 36 (H200).
constexpr Nanos kCallCost = 10 * kMicrosecond;
class PageableCopy : public Edit {
 public:
  PageableCopy(std::vector<TaskId> copies, std::vector<TaskId> calls, std::vector<TaskId> waits)
      : copies_(std::move(copies)), calls_(std::move(calls)), waits_(std::move(waits)) {}

  void Apply(const Model& model, Guess guess, Plan& plan) const override {
    for (const TaskId wait : waits_) plan.DropWait(wait);
    for (const TaskId call : calls_) {
      plan.duration_ns[call] = std::min(plan.duration_ns[call], kCallCost);
    }
    if (guess == Guess::kLeast) return;
    for (const TaskId copy : copies_) {
      const Bytes bytes = model.trace().device.bytes[model.graph().tasks[copy].row];
      const Known<Nanos> pinned = PinnedCopyNs(model, bytes, guess);
      if (bytes > 0 && pinned) {
        plan.duration_ns[copy] = std::min(plan.duration_ns[copy], *pinned);
      }
    }
  }

  std::string Scope(const Model& model) const override {
    double bytes = 0;
    for (const TaskId copy : copies_) {
      bytes += static_cast<double>(
          std::max<Bytes>(0, model.trace().device.bytes[model.graph().tasks[copy].row]));
    }
    const auto steps = static_cast<double>(model.graph().steps);
    return fmt::format("{} copies a step ({}) leave pinned memory",
                       Fixed(static_cast<double>(copies_.size()) / steps, 1),
                       HumanBytes(bytes / steps));
  }

 private:
  const std::vector<TaskId> copies_, calls_, waits_;
};

}  // namespace

FoundEdit FindPageableCopy(const Model& model) {
  const Graph& graph = model.graph();
  const trace::DeviceWork& device = model.trace().device;
  std::vector<TaskId> copies, calls, waits;
  for (TaskId t = 0; t < graph.tasks.size(); ++t) {
    const Task& task = graph.tasks[t];
    if (task.kind == TaskKind::kWait) {
      if (ReasonOf(model, task) == WaitReason::kPageableCopy) waits.push_back(t);
      continue;
    }
    if (graph.lanes[task.lane].kind != LaneKind::kStream || !IsPageableInput(device, task.row)) {
      continue;
    }
    copies.push_back(t);
    const trace::RowId call = device.api[task.row];
    if (call != trace::kNoRow && graph.of_host[call] != kNoTask) {
      calls.push_back(graph.of_host[call]);
    }
  }
  if (copies.empty()) {
    return FoundEdit::Absent("no copy to the device in the steps leaves pageable memory");
  }
  return FoundEdit(
      std::make_unique<PageableCopy>(std::move(copies), std::move(calls), std::move(waits)));
}

}  // namespace hone::replay
