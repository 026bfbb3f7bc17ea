// SPDX-License-Identifier: Apache-2.0
// layout-conversion: channels_last throughout, so that nothing is converted around convolutions,
// and batch norms run the kernels of that layout.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

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

// PyTorch's own kernels for batch norms in NCHW give each channel one block, however few there are;
// those for channels last spread over the device. What the latter take: passes over the tensor at a
// share of the reached bandwidth. From ResNet-50's on an H200 in bfloat16: 13.7 ms forward for
// 5.7 GB of input, 12.1 backward. The kernel in NCHW stands for all of its part of the call.
struct NormPart {
  std::string_view kernel;
  double tensors = 0;  // that the model of its call counts bytes for
  double passes = 0;
  double reached = 0;
  double latency_ns = 0;
};
constexpr std::array kNormParts = {
    NormPart{"batch_norm_collect_statistics", 2, 1, 0.16, 4'000},
    NormPart{"batch_norm_transform_input", 2, 2, 0.65, 1'500},
    NormPart{"batch_norm_backward_kernel", 3, 5, 0.59, 4'000},
};
// Of that time; the recording had 0.77 to 1.24, and one of 36 kernel and tensor size pairs 1.5.
constexpr Range3 kOfNorm = {1.3, 1.0, 0.7};
// Most without shapes: bytes cannot be counted, so some gain is assumed.
constexpr double kUnshapedNormLeft = 0.5;

const NormPart* NormPartOf(std::string_view name) {
  if (name.find("channels_last") != std::string_view::npos) return nullptr;
  for (const NormPart& part : kNormParts) {
    if (name.find(part.kernel) != std::string_view::npos) return &part;
  }
  return nullptr;
}

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
      // Under bf16-autocast the norm's own share of layout_ns says it.
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
std::vector<Norm> FindNorms(const Model& model) {
  const trace::Trace& trace = model.trace();
  const std::vector<Task>& tasks = model.graph().tasks;
  std::vector<Norm> norms;
  std::vector<const NormPart*> parts;
  std::vector<std::uint8_t> judged(trace.strings.size(), 0);
  for (TaskId t = 0; t < tasks.size(); ++t) {
    if (tasks[t].kind != TaskKind::kKernel) continue;
    std::uint8_t& name = judged[static_cast<std::uint32_t>(trace.device.name[tasks[t].row])];
    if (name == 1) continue;
    const NormPart* part = NormPartOf(trace.DeviceName(tasks[t].row));
    name = part == nullptr ? 1 : 2;
    if (part == nullptr) continue;
    norms.push_back({t, 0});
    parts.push_back(part);
  }
  const double bandwidth = model.peaks() ? ReachedBandwidth(*model.peaks()) : 0;
  if (norms.empty() || bandwidth <= 0) return norms;
  const std::vector<BatchWork> work = ReadBatchWork(model);
  for (std::size_t i = 0; i < norms.size(); ++i) {
    const BatchWork& call = work[norms[i].task];
    if (!call.modelled || call.bytes <= 0) continue;
    const NormPart& part = *parts[i];
    const double bytes = part.passes * call.bytes / part.tensors;
    norms[i].last_ns = part.latency_ns + bytes / (part.reached * bandwidth);
  }
  return norms;
}

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
  return FoundEdit(std::make_unique<LayoutConversion>(std::move(work), FindNorms(model)));
}

}  // namespace hone::replay
