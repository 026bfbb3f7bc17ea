// SPDX-License-Identifier: Apache-2.0
// layout-conversion: channels_last throughout, so that nothing is converted around convolutions.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "replay/edits/edits.h"

namespace hone::replay {
namespace {

using trace::RowId;

// Names of cuDNN's conversion kernels; cutlass and ROCm's MIOpen have kin.
bool IsConversion(std::string_view name) {
  for (const std::string_view word :
       {"nchwToNhwc", "nhwcToNchw", "nchwToFoldedNhwc", "nhwcAddPadding", "nchw2nhwc", "nhwc2nchw",
        "nchw_to_nhwc", "nhwc_to_nchw", "transpose_NCHW", "batched_transpose"}) {
    if (name.find(word) != std::string_view::npos) return true;
  }
  return false;
}

class LayoutConversion : public Edit {
 public:
  explicit LayoutConversion(std::vector<TaskId> work) : work_(std::move(work)) {}

  void Apply(const Model& model, Guess guess, Plan& plan) const override {
    const Graph& graph = model.graph();
    std::size_t at = 0;
    for (const TaskId work : work_) {
      // At least: the input of the step is still converted, and every third stays.
      if (guess == Guess::kLeast && at++ % 3 == 0) continue;
      plan.RemoveWork(work);
      const RowId call = model.trace().device.api[graph.tasks[work].row];
      if (call == trace::kNoRow || graph.of_host[call] == kNoTask) continue;
      plan.RemoveLaunch(graph, graph.of_host[call], 0);
    }
    const double gone = guess == Guess::kLeast ? 2.0 / 3 : 1.0;
    for (TaskId t = 0; t < plan.layout_ns.size(); ++t) {
      const auto layout = static_cast<Nanos>(gone * static_cast<double>(plan.layout_ns[t]));
      plan.duration_ns[t] -= std::min(plan.duration_ns[t], layout);
    }
  }

  std::string Scope(const Model& model) const override {
    double time = 0;
    for (const TaskId work : work_) {
      time += static_cast<double>(model.graph().tasks[work].duration_ns);
    }
    const auto steps = static_cast<double>(model.graph().steps);
    return fmt::format("{:.0f} conversions a step, {:.2f} ms",
                       static_cast<double>(work_.size()) / steps, time / 1e6 / steps);
  }

 private:
  const std::vector<TaskId> work_;
};

}  // namespace

FoundEdit FindLayoutConversion(const Model& model) {
  const trace::Trace& trace = model.trace();
  std::vector<std::uint8_t> judged(trace.strings.size(), 0);
  std::vector<TaskId> work;
  for (TaskId t = 0; t < model.graph().tasks.size(); ++t) {
    const Task& task = model.graph().tasks[t];
    if (task.kind != TaskKind::kKernel) continue;
    std::uint8_t& name = judged[static_cast<std::uint32_t>(trace.device.name[task.row])];
    if (name == 0) name = IsConversion(trace.DeviceName(task.row)) ? 2 : 1;
    if (name == 2) work.push_back(t);
  }
  if (work.empty()) return FoundEdit::Absent("no kernel in the steps converts between layouts");
  return FoundEdit(std::make_unique<LayoutConversion>(std::move(work)));
}

}  // namespace hone::replay
