// SPDX-License-Identifier: Apache-2.0
// pageable-copy: copies to the device leave pinned memory, and the host does not wait for them;
// results go to pinned memory, and the host waits for them all the same.
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
  struct Targets {
    std::vector<TaskId> inputs, results;  // copies to the device, to the host
    std::vector<TaskId> calls, waits;     // of the inputs
  };
  explicit PageableCopy(Targets targets) : targets_(std::move(targets)) {}

  void Apply(const Model& model, Guess guess, Plan& plan) const override {
    for (const TaskId wait : targets_.waits) plan.DropWait(wait);
    for (const TaskId call : targets_.calls) {
      plan.duration_ns[call] = std::min(plan.duration_ns[call], kCallCost);
    }
    // At least, somebody spends the time on filling or emptying the pinned memory.
    if (guess == Guess::kLeast) return;
    for (const std::vector<TaskId>* copies : {&targets_.inputs, &targets_.results}) {
      for (const TaskId copy : *copies) {
        const Bytes bytes = model.trace().device.bytes[model.graph().tasks[copy].row];
        const Known<Nanos> pinned = PinnedCopyNs(model, bytes, guess);
        if (bytes > 0 && pinned) {
          plan.duration_ns[copy] = std::min(plan.duration_ns[copy], *pinned);
        }
      }
    }
  }

  std::string Scope(const Model& model) const override {
    std::string text;
    if (!targets_.inputs.empty()) text = CountOf(model, targets_.inputs) + " leave pinned memory";
    if (!targets_.results.empty()) {
      text += (text.empty() ? "" : ", ") + CountOf(model, targets_.results) + " go into it";
    }
    return text;
  }

 private:
  static std::string CountOf(const Model& model, const std::vector<TaskId>& copies) {
    double bytes = 0;
    for (const TaskId copy : copies) {
      bytes += static_cast<double>(
          std::max<Bytes>(0, model.trace().device.bytes[model.graph().tasks[copy].row]));
    }
    const auto steps = static_cast<double>(model.graph().steps);
    return fmt::format("{} copies a step ({})",
                       Fixed(static_cast<double>(copies.size()) / steps, 1),
                       HumanBytes(bytes / steps));
  }

  const Targets targets_;
};

}  // namespace

FoundEdit FindPageableCopy(const Model& model) {
  const Graph& graph = model.graph();
  const trace::DeviceWork& device = model.trace().device;
  PageableCopy::Targets targets;
  for (TaskId t = 0; t < graph.tasks.size(); ++t) {
    const Task& task = graph.tasks[t];
    if (task.kind == TaskKind::kWait) {
      if (ReasonOf(model, task) == WaitReason::kPageableCopy) targets.waits.push_back(t);
      continue;
    }
    if (graph.lanes[task.lane].kind != LaneKind::kStream) continue;
    if (IsPageableResult(device, task.row)) targets.results.push_back(t);
    if (!IsPageableInput(device, task.row)) continue;
    targets.inputs.push_back(t);
    const trace::RowId call = device.api[task.row];
    if (call != trace::kNoRow && graph.of_host[call] != kNoTask) {
      targets.calls.push_back(graph.of_host[call]);
    }
  }
  if (targets.inputs.empty() && targets.results.empty()) {
    return FoundEdit::Absent(
        "no batch and no large result goes through pageable memory in the steps");
  }
  return FoundEdit(std::make_unique<PageableCopy>(std::move(targets)));
}

}  // namespace hone::replay
