// SPDX-License-Identifier: Apache-2.0
// no-tensor-cores: fp32 matrix work as TF32; half precision with shapes that the units can take.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <unordered_map>
#include <vector>

#include "replay/edits/autograd_numbers.h"
#include "replay/edits/convolution_times.h"
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
// Both gradients against the forward product, on matrix units: 2.7 to 3.6 in convolutions of 1-d
// and 3-d programs. On plain cores some take 6 to 124 times as long, by a badly chosen kernel, and
// that goes with it.
constexpr double kBackwardOfForward = 3.1;
// Depthwise ones: forward no change, backward 1.0 to 1.8 in a ConvNeXt, by time 1.35.
constexpr double kDepthwiseBackwardGain = 1.35;
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

// By the forward kernel, where no shapes tell.
bool IsDepthwise(std::string_view kernel) {
  return kernel.find("c1_k1") != std::string_view::npos ||
         kernel.find("depthwise") != std::string_view::npos;
}
bool IsConvolution(std::string_view op) { return op.find("conv") != std::string_view::npos; }

std::uint32_t LaunchesOnUnits(std::string_view convolution) {
  const bool backward = convolution.find("backward") != std::string_view::npos;
  return backward ? kBackwardLaunches : kForwardLaunches;
}

// Convolution calls that run on plain cores; everything they launch goes faster together, the
// transforms and copies around the product included.
class PlainConvolutions {
 public:
  PlainConvolutions(const Model& model, const analyze::ModelledCalls* shapes)
      : model_(model),
        times_(model, shapes),
        numbers_(model.trace()),
        usual_gain_(ConvolutionGain(*model.peaks())),
        calls_(model.trace().host.size()) {
    const ForwardCalls forward = ReadCalls();
    for (RowId op = 0; op < calls_.size(); ++op) {
      if (calls_[op].plain) calls_[op].gain = GainOf(op, forward);
    }
  }

  bool Has(RowId op) const { return op != kNoRow && calls_[op].plain; }
  double GainOf(RowId op) const { return calls_[op].gain; }

 private:
  struct Call {
    bool plain = false;
    std::uint32_t launches = 0;
    double time_ns = 0;
    double gain = 1;
  };
  struct Forward {
    double time_ns = 0;
    bool depthwise = false;
  };
  using ForwardCalls = std::unordered_map<std::int64_t, Forward>;  // by number of the autograd node

  ForwardCalls ReadCalls() {
    const trace::Trace& trace = model_.trace();
    ForwardCalls forward;
    for (const Task& task : model_.graph().tasks) {
      if (task.kind != TaskKind::kKernel) continue;
      const RowId op = trace.device.op[task.row];
      const KernelTraits& traits = model_.Traits(task.row);
      if (op == kNoRow || !IsConvolution(trace.HostName(op))) continue;
      Call& call = calls_[op];
      ++call.launches;
      call.time_ns += static_cast<double>(task.duration_ns);
      if (traits.matrix_unit == MatrixUnit::kNo && traits.precision == Precision::kFp32) {
        call.plain = true;
      }
      if (numbers_.Of(op) < 0 || IsBackward(op)) continue;
      Forward& known = forward[numbers_.Of(op)];
      known.time_ns += static_cast<double>(task.duration_ns);
      known.depthwise = known.depthwise || IsDepthwise(trace.DeviceName(task.row));
    }
    return forward;
  }

  bool IsBackward(RowId op) const {
    return model_.trace().HostName(op).find("backward") != std::string_view::npos;
  }
  double GainOf(RowId op, const ForwardCalls& forward) const {
    const Call& call = calls_[op];
    if (const auto shaped = times_.Find(op)) {
      if (shaped->kind == ConvolutionTimes::Kind::kDepthwise) {
        return shaped->backward ? kDepthwiseBackwardGain : 1;
      }
      return std::max(1.0, call.time_ns / times_.Of(*shaped, ConvolutionFormat::kTf32));
    }
    const bool chain = call.launches > LaunchesOnUnits(model_.trace().HostName(op));
    const double usual = chain ? kTransformedShare * usual_gain_ : usual_gain_;
    const auto found = forward.find(numbers_.Of(op));
    if (found == forward.end()) return usual;
    if (found->second.depthwise) return IsBackward(op) ? kDepthwiseBackwardGain : 1;
    if (!IsBackward(op)) return usual;
    const double on_units = kBackwardOfForward * found->second.time_ns / usual_gain_;
    return std::max(usual, call.time_ns / on_units);
  }

  const Model& model_;
  const ConvolutionTimes times_;
  const AutogradNumbers numbers_;
  const double usual_gain_;
  std::vector<Call> calls_;  // by host row
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
      const bool off =
          traits.matrix_unit == MatrixUnit::kNo && traits.precision == Precision::kFp32;
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
    return FoundEdit::Absent(has_tf32
                                 ? "no matrix kernel in the steps would run faster on tensor cores"
                                 : "this device has no faster units for fp32 matrix work");
  }
  return FoundEdit(std::make_unique<NoTensorCores>(std::move(targets), std::move(excess)));
}

}  // namespace hone::replay
