// SPDX-License-Identifier: Apache-2.0
#include "replay/edits/product_gains.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdint>

#include "analyze/flops.h"
#include "replay/edits/attention.h"
#include "replay/edits/half_format.h"

namespace hone::replay {
namespace {

using trace::kNoRow;
using trace::RowId;

// Of its peak, what an fp32 matmul on plain cores reaches (H200, GPT-2 and 4,096-wide layers).
constexpr double kFp32Reached = 0.87;
// Of theirs, what the matrix units reach with TF32, measured on an H200: 0.66 in the layers of
// GPT-2, ViT-B and BERT (10 to 46 GFLOP a product; 0.4 to 0.9 each), 0.75 in
// 4,096-wide layers; 0.30 in batched products, whose inner size is a head's; 0.28 where a size is
// no multiple of four (GPT-2's vocabulary of 50,257). Products too small to fill the device less.
// The same with bfloat16 for products that take as long, which have twice the FLOPs: 0.63 to 0.76
// in GPT-2's layers of 29 and 39 GFLOP, 0.48 in those of 10, 0.72 to 0.83 in its vocabulary (a
// recording of the compiled program), 0.72 in layers of 8,192.
constexpr double kReachedLayer = 0.66, kReachedLarge = 0.75;
constexpr double kReachedMisaligned = 0.28;
constexpr double kLayerFlops = 46e9, kLargeFlops = 325e9, kSmallFlops = 5e9, kSmallPower = 0.35;
// With TF32 the units take operands whose inner size lies together, so that a layer's three
// products reach different shares. An H200, an ALBERT and a mixture of experts, 5 to 200 GFLOP:
// forward 0.49 to 0.96, the gradient of the input 0.49 to 0.87, that of the weight 0.32 to 0.65
// (one of 0.36 with 39); small ones less, as much as work of 3.5 GFLOP at each one's best would
// take.
constexpr std::array<double, 4> kReachedAtBest = {0.75, 1.0, 0.88, 0.55};  // by Operands
constexpr double kStartFlops = 3.5e9;
// Heads have 32 to 256 elements.
constexpr std::int64_t kLargestHead = 256;
// bfloat16 with one element an access took 5.5 times as long as with eight, for 4,095-wide layers.
constexpr double kMisalignedHalf = kReachedLarge / 5.5;
// Convolutions reach less of the fp32 peak to begin with: ResNet-50's took 4.4 times as long as
// with TF32, a stack of 3x3 ones 4 times, conversions of layout included.
constexpr double kConvolutionGain = 4.2;
// An H200's ratio of TF32 to fp32 peak, at which that gain was measured.
constexpr double kMeasuredRatio = 494.7 / 66.9;
// Fused attention, forward and backward. In fp32 it reaches no more than plain cores do, 17 to 28
// and 21 to 28 TFLOP/s of the 52 that an H200 reaches, in five programs; in bfloat16 at 130
// (with dropout), 190 and 345 of 790, and at 130 and 190, small calls included.
constexpr std::array<double, 2> kFusedFp32Reached = {0.45, 0.50};
constexpr std::array<double, 2> kFusedHalfReached = {0.31, 0.25};
constexpr std::array<double, 2> kFusedLatencyNs = {8'000, 35'000};
// Of the data sheet's bandwidth and of its products, what is reached (an H200's bfloat16: 790 of
// 989 TFLOP/s under its power limit); a measured figure was reached.
constexpr double kBandwidthReached = 0.85, kPeakReached = 0.80;

bool IsBatched(const trace::Trace& trace, RowId op) {
  return op != kNoRow && trace.HostName(op).find("bmm") != std::string_view::npos;
}

std::vector<analyze::ArgumentShape> ArgumentsOf(const trace::Trace& trace, std::uint32_t row) {
  const trace::OpDetail& detail = trace.op_details[row];
  return analyze::ParseArguments(trace.Name(detail.dims), trace.Name(detail.types),
                                 trace.Name(detail.concrete));
}

}  // namespace

double ReachedByUnits(double flops) {
  if (flops < kSmallFlops) return kReachedLayer * std::pow(flops / kSmallFlops, kSmallPower);
  const double slope = (kReachedLarge - kReachedLayer) / std::log10(kLargeFlops / kLayerFlops);
  const double reached = kReachedLayer + slope * std::log10(flops / kLayerFlops);
  return std::clamp(reached, kReachedLayer, kReachedLarge);
}

Operands OperandsOf(std::string_view kernel) {
  for (std::size_t at = kernel.find('_'); at != std::string_view::npos;
       at = kernel.find('_', at + 1)) {
    const std::string_view word = kernel.substr(at + 1, 2);
    if (word.size() < 2 || (at + 3 < kernel.size() && std::isalnum(kernel[at + 3]))) continue;
    if (word == "tn") return Operands::kInnerTogether;
    if (word == "nn") return Operands::kOneTogether;
    if (word == "nt") return Operands::kInnerApart;
  }
  return Operands::kUnknown;
}

double ReachedWithTf32(double flops, Operands operands) {
  const double best = kReachedAtBest[static_cast<std::size_t>(operands)];
  const double reached =
      best * std::max(flops, kSmallFlops) / (std::max(flops, kSmallFlops) + kStartFlops);
  return flops < kSmallFlops ? reached * std::pow(flops / kSmallFlops, kSmallPower) : reached;
}

double ReachedBandwidth(const analyze::DevicePeaks& peaks) {
  return (peaks.measured ? 1.0 : kBandwidthReached) * peaks.memory_gbytes_per_s;
}

double ReachedPeak(const analyze::DevicePeaks& peaks, double tflops) {
  return (peaks.measured ? 1.0 : kPeakReached) * tflops;
}

MatrixFormat MatrixFormat::Tf32(const analyze::DevicePeaks& peaks) {
  return {ReachedPeak(peaks, peaks.tf32), 1, 1, kReachedMisaligned, 4, true};
}

MatrixFormat MatrixFormat::Half(const analyze::DevicePeaks& peaks) {
  const double half = HalfTflops(peaks);
  const double scale = peaks.tf32 > 0 && half > 0 ? peaks.tf32 / half : 0.5;
  return {ReachedPeak(peaks, half), scale, 0.5, kMisalignedHalf, 8, false};
}

double ConvolutionGain(const analyze::DevicePeaks& peaks) {
  const double units = UnitsTflops(peaks);
  if (units <= peaks.fp32 || peaks.fp32 <= 0) return 1;
  return kConvolutionGain * (units / peaks.fp32) / kMeasuredRatio;
}

ProductGains::ProductGains(const Model& model, const MatrixFormat& format)
    : model_(model), peaks_(*model.peaks()), format_(format) {
  if (!model.facts().trust.present.shapes) {
    attention_.resize(model.trace().device.size(), 0);
    for (const Attention& attention : FindAttention(model)) {
      for (const auto* work : {&attention.forward, &attention.backward}) {
        for (const TaskId task : *work) attention_[model.graph().tasks[task].row] = 1;
      }
    }
    return;
  }
  calls_ = std::make_unique<analyze::ModelledCalls>(model.trace());
  aligned_.resize(calls_->entries().size(), kUnseen);
  time_ns_.resize(model.trace().host.size(), 0);
  for (const Task& task : model.graph().tasks) {
    if (task.kind != TaskKind::kKernel) continue;
    const RowId owner = OwnerOf(model.trace().device.op[task.row]);
    if (owner != kNoRow) time_ns_[owner] += task.duration_ns;
  }
}

double ProductGains::Of(const Task& task) {
  const RowId op = model_.trace().device.op[task.row];
  const RowId owner = OwnerOf(op);
  const bool of_heads = IsBatched(model_.trace(), op) && IsOfHeads(task, owner);
  double seconds = static_cast<double>(task.duration_ns) / 1e9;
  double flops = FlopsAsRun(task, of_heads), bytes = 0;
  bool aligned = true;
  if (owner != kNoRow) {
    const std::uint32_t entry = calls_->EntryOf(owner);
    seconds = static_cast<double>(time_ns_[owner]) / 1e9;
    flops = calls_->entries()[entry].work.flops;
    bytes = format_.bytes_scale * calls_->entries()[entry].work.bytes;
    aligned = IsAligned(entry);
  }
  double reached = aligned ? Reached(task, flops) : format_.misaligned;
  if (of_heads) reached = std::min(reached, kReachedBatched);
  const double compute = flops / (reached * format_.tflops * 1e12);
  const double bandwidth = ReachedBandwidth(peaks_) * 1e9;
  const double faster = std::max(compute, bandwidth > 0 ? bytes / bandwidth : 0.0);
  return faster > 0 ? std::max(1.0, seconds / faster) : 1;
}

double ProductGains::Reached(const Task& task, double flops) const {
  if (!format_.by_operands) return ReachedByUnits(format_.flops_scale * flops);
  return ReachedWithTf32(flops, OperandsOf(model_.trace().DeviceName(task.row)));
}

// Without shapes, a batched product beside a softmax; others are layers of experts and the like.
bool ProductGains::IsOfHeads(const Task& task, RowId owner) const {
  if (calls_ == nullptr) return attention_[task.row] != 0;
  if (owner == kNoRow) return true;
  std::int64_t smallest = INT64_MAX;
  for (const analyze::ArgumentShape& argument :
       ArgumentsOf(model_.trace(), calls_->entries()[calls_->EntryOf(owner)].detail)) {
    if (!argument.IsTensor() || argument.dims.size() < 3) continue;
    smallest = std::min({smallest, argument.dims.end()[-1], argument.dims.end()[-2]});
  }
  return smallest <= kLargestHead;
}

double ProductGains::SmallerMatrix(RowId op) const {
  const RowId owner = OwnerOf(op);
  if (owner == kNoRow) return 0;
  double smallest = 0;
  for (const analyze::ArgumentShape& argument :
       ArgumentsOf(model_.trace(), calls_->entries()[calls_->EntryOf(owner)].detail)) {
    if (!argument.IsTensor() || argument.dims.size() < 2) continue;
    const double elements = argument.Elements();
    if (smallest == 0 || elements < smallest) smallest = elements;
  }
  return smallest;
}

std::vector<std::int64_t> ProductGains::FirstDims(RowId op) const {
  if (calls_ == nullptr || op == kNoRow) return {};
  for (analyze::ArgumentShape& argument :
       ArgumentsOf(model_.trace(), model_.trace().host.detail[op])) {
    if (argument.IsTensor() && argument.dims.size() >= 2) return std::move(argument.dims);
  }
  return {};
}

double ProductGains::FirstTensor(RowId op) const {
  const std::vector<std::int64_t> dims = FirstDims(op);
  double elements = dims.empty() ? 0 : 1;
  for (const std::int64_t size : dims) elements *= static_cast<double>(size);
  return elements;
}

double ProductGains::Channels(RowId op) const {
  const std::vector<std::int64_t> dims = FirstDims(op);
  return dims.empty() ? 0 : static_cast<double>(dims[1]);
}

double ProductGains::FusedAttentionInHalf(const Task& task, std::size_t kernels) const {
  const RowId op = model_.trace().device.op[task.row];
  const bool backward =
      op != kNoRow && model_.trace().HostName(op).find("backward") != std::string_view::npos;
  const std::size_t pass = backward ? 1 : 0;
  const auto recorded = static_cast<double>(task.duration_ns);
  const double flops = kFusedFp32Reached[pass] * ReachedPeak(peaks_, peaks_.fp32) * recorded;
  const double half =
      kFusedLatencyNs[pass] / static_cast<double>(std::max<std::size_t>(1, kernels)) +
      flops / (kFusedHalfReached[pass] * ReachedPeak(peaks_, HalfTflops(peaks_)));
  return std::min(recorded, half);
}

// What a kernel without shapes must have computed in its time.
double ProductGains::FlopsAsRun(const Task& task, bool of_heads) const {
  const double seconds = static_cast<double>(task.duration_ns) / 1e9;
  const bool on_units = model_.Traits(task.row).matrix_unit == analyze::MatrixUnit::kYes;
  if (!on_units) return kFp32Reached * ReachedPeak(peaks_, peaks_.fp32) * 1e12 * seconds;
  const double peak = ReachedPeak(peaks_, UnitsTflops(peaks_)) * 1e12 * seconds;
  return peak * (of_heads ? kReachedBatched : ReachedByUnits(kReachedLayer * peak));
}

// The call whose shapes account for the kernel; kNoRow: none is known.
RowId ProductGains::OwnerOf(RowId op) const {
  if (calls_ == nullptr || op == kNoRow) return kNoRow;
  const RowId owner = calls_->OwnerOf(op);
  if (owner == kNoRow) return kNoRow;
  const analyze::ModelledCalls::Entry& entry = calls_->entries()[calls_->EntryOf(owner)];
  return entry.modelled && entry.kind == analyze::ModelKind::kProduct ? owner : kNoRow;
}

// Operands are loaded 16 bytes at a time where both sizes of a matrix allow it.
bool ProductGains::IsAligned(std::uint32_t entry) {
  std::uint8_t& seen = aligned_[entry];
  if (seen != kUnseen) return seen == kYes;
  seen = kYes;
  for (const analyze::ArgumentShape& argument :
       ArgumentsOf(model_.trace(), calls_->entries()[entry].detail)) {
    if (argument.dims.size() < 2) continue;
    for (std::size_t d = argument.dims.size() - 2; d < argument.dims.size(); ++d) {
      if (argument.dims[d] % format_.multiple != 0) seen = kNo;
    }
  }
  return seen == kYes;
}

}  // namespace hone::replay
