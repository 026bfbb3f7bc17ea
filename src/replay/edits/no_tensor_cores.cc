// SPDX-License-Identifier: Apache-2.0
// no-tensor-cores: fp32 matrix work as TF32; half precision with shapes that the units can take.
#include <fmt/format.h>

#include <memory>
#include <vector>

#include "replay/edits/edits.h"
#include "replay/edits/half_format.h"
#include "replay/edits/plain_convolutions.h"
#include "replay/edits/product_gains.h"

namespace hone::replay {
namespace {

using analyze::KernelFamily;
using analyze::KernelTraits;
using analyze::Precision;
using trace::kNoRow;
using trace::RowId;

// Half precision with one element an access (CUTLASS "align1"): 5.9 times as long as with eight
// for 4,095-wide layers on an H200; two elements halve that.
constexpr double kAlign1Gain = 5.5, kAlign2Gain = 2.5;
// Of a prediction's gain beyond 1, the least and the most.
constexpr Range3 kOfGain = {0.65, 1.0, 1.3};

// Of the host code between the launches of one call, what goes with a launch.
constexpr double kBetweenLaunches = 0.7;

struct Target {
  TaskId task = kNoTask;
  double gain = 1;
};

double AlignmentGain(const Model& model, RowId work, const KernelTraits& traits) {
  if (traits.family != KernelFamily::kMatmul) return 1;
  if (traits.precision != Precision::kBf16 && traits.precision != Precision::kFp16) return 1;
  const std::string_view name = model.trace().DeviceName(work);
  if (name.find("align1") != std::string_view::npos) return kAlign1Gain;
  return name.find("align2") != std::string_view::npos ? kAlign2Gain : 1;
}

class NoTensorCores : public Edit {
 public:
  NoTensorCores(std::vector<Target> targets, std::vector<TaskId> excess)
      : targets_(std::move(targets)), excess_(std::move(excess)) {}

  void Apply(const Model& model, Guess guess, Plan& plan) const override {
    for (const Target& target : targets_) {
      if (plan.MatrixOf(target.task) != MatrixMode::kAsRecorded) continue;
      const double gain = 1 + kOfGain.At(guess) * (target.gain - 1);
      plan.duration_ns[target.task] =
          static_cast<Nanos>(static_cast<double>(plan.duration_ns[target.task]) / gain);
    }
    if (guess == Guess::kLeast) return;
    for (const TaskId task : excess_) {
      if (plan.MatrixOf(task) != MatrixMode::kAsRecorded) continue;
      // Its share of the time stays, behind the kernel before it: one product has no side streams.
      plan.lag_ns[task] = 0;
      plan.held[task] = Held::kByNone;
      const RowId call = model.trace().device.api[model.graph().tasks[task].row];
      const TaskId launch = call == kNoRow ? kNoTask : model.graph().of_host[call];
      if (launch != kNoTask) plan.RemoveLaunch(model.graph(), launch, kBetweenLaunches);
    }
  }

  std::string Scope(const Model& model) const override {
    double time = 0;
    for (const Target& target : targets_) {
      time += static_cast<double>(model.graph().tasks[target.task].duration_ns);
    }
    const auto steps = static_cast<double>(model.graph().steps);
    return fmt::format("{:.0f} kernels a step, {:.2f} ms of matrix work",
                       static_cast<double>(targets_.size()) / steps, time / 1e6 / steps);
  }

 private:
  const std::vector<Target> targets_;
  const std::vector<TaskId> excess_;  // launches that go
};

}  // namespace

FoundEdit FindNoTensorCores(const Model& model) {
  const Graph& graph = model.graph();
  if (!model.peaks()) return FoundEdit::Absent(model.peaks().why_not());
  const analyze::DevicePeaks& peaks = *model.peaks();
  const bool has_tf32 = peaks.tf32 > peaks.fp32 && peaks.fp32 > 0;
  const double convolution = ConvolutionGain(peaks);
  ProductGains matmuls(model, MatrixFormat::Tf32(peaks));
  const PlainConvolutions plain(model, matmuls.calls());
  std::vector<Target> targets;
  std::vector<TaskId> excess;
  std::vector<std::uint32_t> launched(model.trace().host.size(), 0);  // by convolution call
  for (TaskId t = 0; t < graph.tasks.size(); ++t) {
    const Task& task = graph.tasks[t];
    if (task.kind != TaskKind::kKernel) continue;
    const KernelTraits& traits = model.Traits(task.row);
    const RowId op = model.trace().device.op[task.row];
    double gain = AlignmentGain(model, task.row, traits);
    if (has_tf32) {
      const bool off = RunsOnPlainCores(traits);
      if (plain.Has(op)) {
        gain = plain.GainOf(op);
      } else if (off && traits.family == KernelFamily::kConvolution) {
        gain = convolution;
      } else if (off && traits.family == KernelFamily::kMatmul) {
        gain = matmuls.Of(task);
      }
    }
    if (gain <= 1.05) continue;
    targets.push_back({t, gain});
    if (plain.Has(op) && ++launched[op] > LaunchesOnUnits(model.trace().HostName(op))) {
      excess.push_back(t);
    }
  }
  if (targets.empty()) {
    return FoundEdit::Absent(
        has_tf32                  ? "no matrix kernel in the steps would run faster on tensor cores"
        : TakesFloat16Only(peaks) ? "this device has no TF32; ask for fp16-autocast"
                                  : "this device has no faster units for fp32 matrix work");
  }
  return FoundEdit(std::make_unique<NoTensorCores>(std::move(targets), std::move(excess)));
}

}  // namespace hone::replay
