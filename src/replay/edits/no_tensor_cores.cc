// SPDX-License-Identifier: Apache-2.0
// no-tensor-cores: fp32 matrix work as TF32; half precision with shapes that the units can take.
#include <fmt/format.h>

#include <memory>
#include <vector>

#include "replay/edits/edits.h"
#include "replay/edits/product_gains.h"

namespace hone::replay {
namespace {

using analyze::KernelFamily;
using analyze::KernelTraits;
using analyze::MatrixUnit;
using analyze::Precision;
using trace::kNoRow;
using trace::RowId;

// Half precision with one element an access (CUTLASS "align1"): 5.9 times as long as with eight
// for 4,095-wide layers on an H200; two elements halve that.
constexpr double kAlign1Gain = 5.5, kAlign2Gain = 2.5;
// Of a prediction's gain beyond 1, the least and the most.
constexpr Range3 kOfGain = {0.65, 1.0, 1.3};

// On plain cores a convolution may be a chain of transforms and products (23 launches of a backward
// call, 8 of a forward one, in a stack of 3x3 layers on an H200); on matrix units ResNet-50's take
// 1 forward and 2 to 4 backward.
constexpr std::uint32_t kForwardLaunches = 2, kBackwardLaunches = 4;
// Transforms save multiplications, so such a chain gains less than a convolution that is one
// product: of the 4.2 times of those, 3.2 in two stacks of 3x3 layers.
constexpr double kTransformedShare = 3.2 / 4.2;
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
      // Its share of the time stays, behind the kernel before it.
      plan.lag_ns[task] = 0;
      plan.edges_off[task] = 1;
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

bool IsConvolution(std::string_view op) { return op.find("conv") != std::string_view::npos; }

// Convolution calls that run on plain cores; everything they launch goes faster together, the
// transforms and copies around the product included.
struct PlainConvolutions {
  explicit PlainConvolutions(const Model& model)
      : plain(model.trace().host.size(), 0), launches(model.trace().host.size(), 0) {
    for (const Task& task : model.graph().tasks) {
      if (task.kind != TaskKind::kKernel) continue;
      const RowId op = model.trace().device.op[task.row];
      const KernelTraits& traits = model.Traits(task.row);
      if (op == kNoRow || !IsConvolution(model.trace().HostName(op))) continue;
      ++launches[op];
      if (traits.matrix_unit == MatrixUnit::kNo && traits.precision == Precision::kFp32) {
        plain[op] = 1;
      }
    }
  }

  bool Has(RowId op) const { return op != kNoRow && plain[op] != 0; }

  std::vector<std::uint8_t> plain;      // by host row
  std::vector<std::uint32_t> launches;  // by host row
};

std::uint32_t LaunchesOnUnits(std::string_view convolution) {
  const bool backward = convolution.find("backward") != std::string_view::npos;
  return backward ? kBackwardLaunches : kForwardLaunches;
}

}  // namespace

FoundEdit FindNoTensorCores(const Model& model) {
  const Graph& graph = model.graph();
  if (!model.peaks()) return FoundEdit::Absent(model.peaks().why_not());
  const analyze::DevicePeaks& peaks = *model.peaks();
  const bool has_tf32 = peaks.tf32 > peaks.fp32 && peaks.fp32 > 0;
  const double convolution = ConvolutionGain(peaks);
  const PlainConvolutions plain(model);
  ProductGains matmuls(model, MatrixFormat::Tf32(peaks));
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
      const bool off =
          traits.matrix_unit == MatrixUnit::kNo && traits.precision == Precision::kFp32;
      if (plain.Has(op)) {
        const bool chain = plain.launches[op] > LaunchesOnUnits(model.trace().HostName(op));
        gain = chain ? kTransformedShare * convolution : convolution;
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
    return FoundEdit::Absent(has_tf32
                                 ? "no matrix kernel in the steps would run faster on tensor cores"
                                 : "this device has no faster units for fp32 matrix work");
  }
  return FoundEdit(std::make_unique<NoTensorCores>(std::move(targets), std::move(excess)));
}

}  // namespace hone::replay
