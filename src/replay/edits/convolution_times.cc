// SPDX-License-Identifier: Apache-2.0
#include "replay/edits/convolution_times.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <vector>

#include "analyze/flops.h"
#include "replay/edits/half_format.h"
#include "replay/edits/product_gains.h"

namespace hone::replay {
namespace {

using analyze::ArgumentShape;
using trace::kNoRow;
using trace::RowId;

// A call takes its latency and the longer of its products and its bytes; but in NCHW with TF32
// both, where its activations are converted around the products, in kernels of their own (28 and 19
// % of a denoiser's calls of 256 channels, half of a vocoder's with 32 to 128). Products reach a
// share of the units' peak that grows with the fewer of the channels; bytes are those that must
// move at least, conversions of layout and partial sums are in `passes`. Fitted to 699 calls of
// fourteen programs on an H200 with cuDNN 9 (torchvision's, and 1-d, 2-d and 3-d ones of our own):
// the mean error of a call, by time, is a fifth in NCHW and a seventh in channels-last order.
// kTf32Last is one program, an EfficientNet. What is converted: 4 programs, 1-d, 2-d and 3-d.
struct Roofline {
  double reached = 0;  // of the peak, from so many channels on
  double full_channels = 0;
  double power = 0;  // of the part of them, below that
  double passes = 0;
  double latency_ns = 0;
};
using ByPass = std::array<Roofline, 2>;  // forward; backward with both gradients
constexpr ByPass kConverted = {
    {{0.90, 200, 0.62, 2.0, 10'000}, {0.62, 180, 0.85, 3.2, 20'000}}};  // kTf32
constexpr std::array<ByPass, 4> kRooflines = {{
    {{{0.70, 160, 0.68, 1.35, 14'000}, {0.49, 114, 1.00, 1.6, 28'000}}},
    {{{0.65, 158, 0.86, 0.95, 20'000}, {0.63, 154, 0.96, 1.25, 45'000}}},
    {{{0.80, 400, 0.50, 1.15, 6'000}, {0.46, 250, 0.54, 1.7, 15'000}}},
    {{{1.00, 160, 0.47, 1.1, 5'500}, {0.83, 150, 0.38, 1.5, 15'000}}},
}};
// With so few channels a product is nearly none, and cuDNN stays on plain cores or pads: times the
// bytes, 1.5 to 15, median 4.5 (stems of nine programs and heads of three).
constexpr double kFewChannels = 4, kFewPasses = 4.5;
// Groups of several channels: times the bytes, forward and backward. 5 to 10 and 12 to 50 in a
// RegNetY with TF32, where cuDNN picks badly; 5 to 8 and 7 to 9 in a ResNeXt in bfloat16, 1.3 to 4
// and 3.4 to 4.7 with channels last. TF32 with channels last was not measured.
constexpr std::array<std::array<double, 2>, 4> kGroupedPasses = {
    {{7.6, 18}, {7.4, 7.9}, {3.1, 3.8}, {3.1, 3.8}}};
// One channel a group: an EfficientNet, a MobileNet and a ConvNeXt with TF32, an EfficientNet in
// bfloat16 with channels last.
constexpr std::array<std::array<double, 2>, 4> kDepthwisePasses = {
    {{2.8, 8.7}, {2.3, 4.3}, {1.6, 3.4}, {2.3, 4.3}}};

}  // namespace

bool IsConvolution(std::string_view op) {
  return op.find("conv") != std::string_view::npos && op.find("convert") == std::string_view::npos;
}

bool IsDepthwiseKernel(std::string_view kernel) {
  return kernel.find("c1_k1") != std::string_view::npos ||
         kernel.find("depthwise") != std::string_view::npos;
}

bool RunsOnPlainCores(const analyze::KernelTraits& traits) {
  return traits.matrix_unit == analyze::MatrixUnit::kNo &&
         traits.precision == analyze::Precision::kFp32;
}

ConvolutionTimes::ConvolutionTimes(const Model& model, const analyze::ModelledCalls* calls)
    : model_(model), calls_(calls), bytes_per_ns_(ReachedBandwidth(*model.peaks())) {}

// The type of its first tensor and the kernel's size; the weight is what follows the input.
void ConvolutionTimes::ReadArguments(std::uint32_t detail, Call& call) const {
  const trace::OpDetail& row = model_.trace().op_details[detail];
  const std::vector<ArgumentShape> arguments =
      analyze::ParseArguments(model_.trace().Name(row.dims), model_.trace().Name(row.types), {});
  const int bytes = arguments.empty() ? 0 : analyze::TypeBytes(arguments[0].type);
  call.element_bytes = bytes > 0 ? bytes : 4;
  const std::size_t weight = call.backward ? 2 : 1;
  if (weight >= arguments.size() || arguments[weight].dims.size() < 3) return;
  call.pointwise = std::all_of(arguments[weight].dims.begin() + 2, arguments[weight].dims.end(),
                               [](std::int64_t size) { return size == 1; });
}

std::optional<ConvolutionTimes::Call> ConvolutionTimes::Find(RowId op) const {
  if (calls_ == nullptr || op == kNoRow) return std::nullopt;
  const RowId owner = calls_->OwnerOf(op);
  if (owner == kNoRow) return std::nullopt;
  const std::string_view name = model_.trace().HostName(owner);
  const analyze::ModelledCalls::Entry& entry = calls_->entries()[calls_->EntryOf(owner)];
  if (!entry.modelled || entry.kind != analyze::ModelKind::kProduct || !IsConvolution(name)) {
    return std::nullopt;
  }
  Call call;
  call.backward = name.find("backward") != std::string_view::npos;
  call.kind = entry.work.groups <= 1           ? Kind::kDense
              : entry.work.group_channels == 1 ? Kind::kDepthwise
                                               : Kind::kGrouped;
  call.channels = entry.work.group_channels;
  call.flops = entry.work.flops;
  call.bytes = entry.work.bytes;
  ReadArguments(entry.detail, call);
  return call;
}

double ConvolutionTimes::Of(const Call& call, ConvolutionFormat format) const {
  const auto row = static_cast<std::size_t>(format);
  const std::size_t pass = call.backward ? 1 : 0;
  const bool converted = format == ConvolutionFormat::kTf32 && !call.pointwise;
  const Roofline& roofline = (converted ? kConverted : kRooflines[row])[pass];
  const bool half = format == ConvolutionFormat::kHalf || format == ConvolutionFormat::kHalfLast;
  const double bytes_ns = call.bytes * (half ? 2 : 4) / call.element_bytes / bytes_per_ns_;
  const double latency_ns = kRooflines[row][pass].latency_ns;
  if (call.kind == Kind::kGrouped) return latency_ns + kGroupedPasses[row][pass] * bytes_ns;
  if (call.kind == Kind::kDepthwise) return latency_ns + kDepthwisePasses[row][pass] * bytes_ns;
  if (call.channels <= kFewChannels) return latency_ns + kFewPasses * bytes_ns;
  const analyze::DevicePeaks& peaks = *model_.peaks();
  const double peak = ReachedPeak(peaks, half ? HalfTflops(peaks) : peaks.tf32);  // TFLOP/s
  const double share = std::min(1.0, call.channels / roofline.full_channels);
  const double flops_ns =
      call.flops / (roofline.reached * std::pow(share, roofline.power) * peak * 1e3);
  const double moved_ns = roofline.passes * bytes_ns;
  return roofline.latency_ns + (converted ? flops_ns + moved_ns : std::max(flops_ns, moved_ns));
}

}  // namespace hone::replay
