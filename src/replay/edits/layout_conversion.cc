// SPDX-License-Identifier: Apache-2.0
// layout-conversion: channels_last throughout, so that nothing is converted around convolutions,
// and batch norms run the kernels of that layout.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

#include "replay/edits/autograd_numbers.h"
#include "replay/edits/batch_norm_parts.h"
#include "replay/edits/batch_work.h"
#include "replay/edits/edits.h"
#include "replay/edits/product_gains.h"

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

// Of that time; the recording had 0.77 to 1.24, and one of 36 kernel and tensor size pairs 1.5.
constexpr Range3 kOfNorm = {1.3, 1.0, 0.7};
// Most without shapes: bytes cannot be counted, so some gain is assumed.
constexpr double kUnshapedNormLeft = 0.5;

struct Norm {
  TaskId task = kNoTask;
  double last_ns = 0;  // with channels last; 0: not known
};

class LayoutConversion : public Edit {
 public:
  LayoutConversion(std::vector<TaskId> work, std::vector<Norm> norms)
      : work_(std::move(work)), norms_(std::move(norms)) {}

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
    for (const Norm& norm : norms_) {
      // Under autocast the norm's own share of layout_ns says it.
      if (!plan.layout_ns.empty() && plan.layout_ns[norm.task] > 0) continue;
      Nanos& planned = plan.duration_ns[norm.task];
      if (norm.last_ns > 0) {
        planned = std::min(planned, static_cast<Nanos>(kOfNorm.At(guess) * norm.last_ns));
      } else if (guess == Guess::kMost) {
        planned = static_cast<Nanos>(kUnshapedNormLeft * static_cast<double>(planned));
      }
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
    std::string scope = fmt::format("{:.0f} conversions a step, {:.2f} ms",
                                    static_cast<double>(work_.size()) / steps, time / 1e6 / steps);
    double before = 0, after = 0;
    for (const Norm& norm : norms_) {
      if (norm.last_ns <= 0) continue;
      const auto recorded = static_cast<double>(model.graph().tasks[norm.task].duration_ns);
      before += recorded;
      after += std::min(recorded, norm.last_ns);
    }
    if (before > after) {
      scope += fmt::format("; batch norms {:.2f} ms a step become {:.2f}", before / 1e6 / steps,
                           after / 1e6 / steps);
    }
    return scope;
  }

 private:
  const std::vector<TaskId> work_;
  const std::vector<Norm> norms_;
};

// Batch norms that have another kernel with channels last.
class NormFinder {
 public:
  explicit NormFinder(const Model& model)
      : model_(model),
        numbers_(model.trace()),
        bandwidth_(model.peaks() ? ReachedBandwidth(*model.peaks()) : 0) {}

  std::vector<Norm> Find() {
    Collect();
    std::vector<Norm> norms;
    if (parts_.empty()) return norms;
    const std::vector<BatchWork> work = ReadBatchWork(model_);
    for (const auto& [task, part] : parts_) {
      const BatchWork& call = work[task];
      const double tensor =
          call.modelled && call.bytes > 0 ? call.bytes / part->tensors : BytesOf(task);
      const bool known = tensor > 0 && bandwidth_ > 0;
      norms.push_back({task, known ? part->LastNs(tensor, bandwidth_) : 0});
    }
    return norms;
  }

 private:
  struct Forward {
    double statistics_ns = 0, transform_ns = 0;
  };

  void Collect() {
    const trace::Trace& trace = model_.trace();
    const std::vector<Task>& tasks = model_.graph().tasks;
    std::vector<std::uint8_t> judged(trace.strings.size(), 0);
    for (TaskId t = 0; t < tasks.size(); ++t) {
      if (tasks[t].kind != TaskKind::kKernel) continue;
      std::uint8_t& name = judged[static_cast<std::uint32_t>(trace.device.name[tasks[t].row])];
      if (name == 1) continue;
      const NormPart* part = NormPartOf(trace.DeviceName(tasks[t].row));
      name = part == nullptr ? 1 : 2;
      if (part == nullptr) continue;
      parts_.emplace_back(t, part);
      const std::int64_t number = NumberOf(t);
      if (number < 0 || part == &kNormBackward) continue;
      Forward& forward = forward_[number];
      (part == &kNormStatistics ? forward.statistics_ns : forward.transform_ns) =
          static_cast<double>(tasks[t].duration_ns);
    }
  }

  // Where shapes do not tell: by the kernels of its forward call. 0: they are not known.
  double BytesOf(TaskId task) const {
    const auto found = forward_.find(NumberOf(task));
    if (found == forward_.end()) return 0;
    return NormedBytes(found->second.statistics_ns, found->second.transform_ns, bandwidth_);
  }

  std::int64_t NumberOf(TaskId task) const {
    const RowId op = model_.trace().device.op[model_.graph().tasks[task].row];
    return op == trace::kNoRow ? -1 : numbers_.Of(op);
  }

  const Model& model_;
  const AutogradNumbers numbers_;
  const double bandwidth_;  // bytes a nanosecond
  std::vector<std::pair<TaskId, const NormPart*>> parts_;
  std::unordered_map<std::int64_t, Forward> forward_;  // by number of the autograd node
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
  return FoundEdit(std::make_unique<LayoutConversion>(std::move(work), NormFinder(model).Find()));
}

}  // namespace hone::replay
