// SPDX-License-Identifier: Apache-2.0
// no-tensor-cores: fp32 matrix work as TF32; half precision with shapes that the units can take.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "analyze/flops.h"
#include "analyze/modelled_calls.h"
#include "replay/edits/edits.h"

namespace hone::replay {
namespace {

using analyze::KernelFamily;
using analyze::KernelTraits;
using analyze::MatrixUnit;
using analyze::Precision;
using trace::kNoRow;
using trace::RowId;

// Of its peak, what an fp32 matmul on plain cores reaches (H200, GPT-2 and 4,096-wide layers).
constexpr double kFp32Reached = 0.87;
// Of theirs, what the matrix units reach with TF32, measured on an H200: 0.66 in the layers of
// GPT-2, ViT-B and BERT (10 to 46 GFLOP a product; 0.4 to 0.9 each), 0.75 in
// 4,096-wide layers; 0.30 in batched products, whose inner size is a head's; 0.28 where a size is
// no multiple of four (GPT-2's vocabulary of 50,257). Products too small to fill the device less.
constexpr double kReachedLayer = 0.66, kReachedLarge = 0.75;
constexpr double kReachedBatched = 0.30, kReachedMisaligned = 0.28;
constexpr double kLayerFlops = 46e9, kLargeFlops = 325e9, kSmallFlops = 5e9, kSmallPower = 0.35;
// Convolutions reach less of the fp32 peak to begin with: ResNet-50's took 4.4 times as long as
// with TF32, a stack of 3x3 ones 4 times, conversions of layout included.
constexpr double kConvolutionGain = 4.2;
// An H200's ratio of TF32 to fp32 peak, at which the gains above were measured.
constexpr double kMeasuredRatio = 494.7 / 66.9;
// Half precision with one element an access (CUTLASS "align1"): 5.9 times as long as with eight
// for 4,095-wide layers on an H200; two elements halve that.
constexpr double kAlign1Gain = 5.5, kAlign2Gain = 2.5;
// Of the data sheet's bandwidth, what large kernels reach; a measured figure was reached.
constexpr double kBandwidthReached = 0.85;
// Of a prediction's gain beyond 1, the least and the most.
constexpr Range3 kOfGain = {0.65, 1.0, 1.3};

double ReachedByUnits(double flops) {
  if (flops < kSmallFlops) return kReachedLayer * std::pow(flops / kSmallFlops, kSmallPower);
  const double slope = (kReachedLarge - kReachedLayer) / std::log10(kLargeFlops / kLayerFlops);
  const double reached = kReachedLayer + slope * std::log10(flops / kLayerFlops);
  return std::clamp(reached, kReachedLayer, kReachedLarge);
}

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

// Gains of matmul kernels by their own roofline on the matrix units: FLOPs, bytes and alignment
// from the shapes of the call where they were recorded, else FLOPs from what the kernel must have
// reached on plain cores.
class MatmulGains {
 public:
  explicit MatmulGains(const Model& model) : model_(model), peaks_(*model.peaks()) {
    if (!model.facts().trust.present.shapes) return;
    calls_ = std::make_unique<analyze::ModelledCalls>(model.trace());
    aligned_.resize(calls_->entries().size(), kUnseen);
    time_ns_.resize(model.trace().host.size(), 0);
    for (const Task& task : model.graph().tasks) {
      const RowId owner = task.kind == TaskKind::kKernel ? OwnerOf(task.row) : kNoRow;
      if (owner != kNoRow) time_ns_[owner] += task.duration_ns;
    }
  }

  double Of(const Task& task) {
    double seconds = static_cast<double>(task.duration_ns) / 1e9;
    double flops = kFp32Reached * peaks_.fp32 * 1e12 * seconds, bytes = 0;
    bool aligned = true;
    if (const RowId owner = OwnerOf(task.row); owner != kNoRow) {
      const std::uint32_t entry = calls_->EntryOf(owner);
      seconds = static_cast<double>(time_ns_[owner]) / 1e9;
      flops = calls_->entries()[entry].work.flops;
      bytes = calls_->entries()[entry].work.bytes;
      aligned = IsAligned(entry);
    }
    double reached = aligned ? ReachedByUnits(flops) : kReachedMisaligned;
    if (IsBatched(task.row)) reached = std::min(reached, kReachedBatched);
    const double compute = flops / (reached * peaks_.tf32 * 1e12);
    const double bandwidth =
        (peaks_.measured ? 1.0 : kBandwidthReached) * peaks_.memory_gbytes_per_s * 1e9;
    const double faster = std::max(compute, bandwidth > 0 ? bytes / bandwidth : 0.0);
    return faster > 0 ? std::max(1.0, seconds / faster) : 1;
  }

 private:
  enum : std::uint8_t { kUnseen, kNo, kYes };

  // The call whose shapes account for the kernel; kNoRow: none is known.
  RowId OwnerOf(RowId work) const {
    const RowId op = model_.trace().device.op[work];
    if (calls_ == nullptr || op == kNoRow) return kNoRow;
    const RowId owner = calls_->OwnerOf(op);
    if (owner == kNoRow) return kNoRow;
    const analyze::ModelledCalls::Entry& entry = calls_->entries()[calls_->EntryOf(owner)];
    return entry.modelled && entry.kind == analyze::ModelKind::kProduct ? owner : kNoRow;
  }

  bool IsBatched(RowId work) const {
    const RowId op = model_.trace().device.op[work];
    return op != kNoRow && model_.trace().HostName(op).find("bmm") != std::string_view::npos;
  }

  // TF32 operands are loaded four at a time where both sizes of a matrix allow it.
  bool IsAligned(std::uint32_t entry) {
    std::uint8_t& seen = aligned_[entry];
    if (seen != kUnseen) return seen == kYes;
    const trace::OpDetail& detail = model_.trace().op_details[calls_->entries()[entry].detail];
    seen = kYes;
    for (const analyze::ArgumentShape& argument : analyze::ParseArguments(
             model_.trace().Name(detail.dims), model_.trace().Name(detail.types),
             model_.trace().Name(detail.concrete))) {
      if (argument.dims.size() < 2) continue;
      for (std::size_t d = argument.dims.size() - 2; d < argument.dims.size(); ++d) {
        if (argument.dims[d] % 4 != 0) seen = kNo;
      }
    }
    return seen == kYes;
  }

  const Model& model_;
  const analyze::DevicePeaks& peaks_;
  std::unique_ptr<analyze::ModelledCalls> calls_;  // null: no shapes
  std::vector<std::uint8_t> aligned_;              // by entry
  std::vector<Nanos> time_ns_;                     // by owner: of all its kernels
};

class NoTensorCores : public Edit {
 public:
  explicit NoTensorCores(std::vector<Target> targets) : targets_(std::move(targets)) {}

  void Apply(const Model& /*model*/, Guess guess, Plan& plan) const override {
    for (const Target& target : targets_) {
      const double gain = 1 + kOfGain.At(guess) * (target.gain - 1);
      plan.duration_ns[target.task] =
          static_cast<Nanos>(static_cast<double>(plan.duration_ns[target.task]) / gain);
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
};

bool IsConvolution(std::string_view op) { return op.find("conv") != std::string_view::npos; }

// Convolution calls that run on plain cores; everything they launch goes faster together, the
// transforms and copies around the product included.
std::vector<std::uint8_t> PlainConvolutions(const Model& model) {
  std::vector<std::uint8_t> plain(model.trace().host.size(), 0);
  for (const Task& task : model.graph().tasks) {
    if (task.kind != TaskKind::kKernel) continue;
    const RowId op = model.trace().device.op[task.row];
    const KernelTraits& traits = model.Traits(task.row);
    if (op == kNoRow || !IsConvolution(model.trace().HostName(op))) continue;
    if (traits.matrix_unit == MatrixUnit::kNo && traits.precision == Precision::kFp32) {
      plain[op] = 1;
    }
  }
  return plain;
}

}  // namespace

FoundEdit FindNoTensorCores(const Model& model) {
  const Graph& graph = model.graph();
  if (!model.peaks()) return FoundEdit::Absent(model.peaks().why_not());
  const analyze::DevicePeaks& peaks = *model.peaks();
  const bool has_tf32 = peaks.tf32 > peaks.fp32 && peaks.fp32 > 0;
  const double convolution =
      kConvolutionGain * (has_tf32 ? peaks.tf32 / peaks.fp32 : 0) / kMeasuredRatio;
  const std::vector<std::uint8_t> plain = PlainConvolutions(model);
  MatmulGains matmuls(model);
  std::vector<Target> targets;
  for (TaskId t = 0; t < graph.tasks.size(); ++t) {
    const Task& task = graph.tasks[t];
    if (task.kind != TaskKind::kKernel) continue;
    const KernelTraits& traits = model.Traits(task.row);
    const RowId op = model.trace().device.op[task.row];
    double gain = AlignmentGain(model, task.row, traits);
    if (has_tf32) {
      const bool off =
          traits.matrix_unit == MatrixUnit::kNo && traits.precision == Precision::kFp32;
      if ((op != kNoRow && plain[op] != 0) ||
          (off && traits.family == KernelFamily::kConvolution)) {
        gain = convolution;
      } else if (off && traits.family == KernelFamily::kMatmul) {
        gain = matmuls.Of(task);
      }
    }
    if (gain > 1.05) targets.push_back({t, gain});
  }
  if (targets.empty()) {
    return FoundEdit::Absent(has_tf32
                                 ? "no matrix kernel in the steps would run faster on tensor cores"
                                 : "this device has no faster units for fp32 matrix work");
  }
  return FoundEdit(std::make_unique<NoTensorCores>(std::move(targets)));
}

}  // namespace hone::replay
