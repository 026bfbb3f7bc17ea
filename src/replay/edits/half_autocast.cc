// SPDX-License-Identifier: Apache-2.0
// bf16-autocast and fp16-autocast: torch.autocast("cuda", …) around the forward pass. Products by
// their own roofline, streams by their bytes, and what comes with it: casts on device and host, and
// in float16 the gradient scaler.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "analyze/roofline.h"
#include "replay/edits/autocast.h"
#include "replay/edits/batch_norm_parts.h"
#include "replay/edits/convolution_times.h"
#include "replay/edits/edits.h"
#include "replay/edits/half_format.h"
#include "replay/edits/optimizer_kernels.h"
#include "replay/edits/product_gains.h"

namespace hone::replay {
namespace {

using analyze::KernelFamily;
using analyze::KernelTraits;
using analyze::MatrixUnit;
using analyze::Precision;
using trace::kNoRow;
using trace::RowId;

// Of a product's gain beyond 1, and where no shapes tell its size and alignment.
constexpr Range3 kOfGain = {0.7, 1.0, 1.3}, kOfGainUnshaped = {0.5, 1.0, 1.3};
// Of the time that fewer bytes save; streams of ResNet-50 took 0.49 to 0.50 in bfloat16 (H200).
constexpr Range3 kOfSaved = {0.75, 1.0, 1.05};
// Part of that where elements are not loaded several at a time (tensors that are broadcast, gates
// of an EfficientNet: 13.5 ms to 11.0) and in sums.
constexpr double kOneByOne = 0.45, kReduced = 0.5;
// Kernels that take two types do not load four elements at a time either: 2.5 TB/s where the others
// reach 4.4 (residual additions of a RoBERTa, H200).
constexpr Range3 kOfTwoTypes = {2.0, 4.4 / 2.5, 1.3};
// A kernel over few elements is latency (as in unfused-optimizer).
constexpr double kKernelLatencyNs = 1'500;
// A cast on the host, in operators over one tensor: 17.4 us against 14.4 forward and 23.4 against
// 19.3 backward in a recording of ResNet-50 under autocast.
constexpr Range3 kCastHost = {1.8, 1.2, 0.8};
// Casting activations, against their bytes or the kernels beside it.
constexpr Range3 kOfCast = {1.3, 1.0, 0.7};
// Convolutions against TF32, where no shapes tell. In channels-last order twice the rate, less what
// memory bounds. In NCHW cuDNN has TF32 kernels that take it as it is, and converts around nearly
// every bfloat16 one: ResNet-50's products alone take 5.0 ms in bfloat16, 14 with TF32 in NCHW:
// 14 / (5.0 · 2.7) = 1.04 to 14 / 12, by its bytes; wide 3x3 ones (a denoiser) gain 2.0.
constexpr Range3 kConvolutionLast = {1.3, 1.8, 2.0}, kConvolutionFirst = {0.8, 1.4, 2.0};
// Of what is left in NCHW, what channels last takes back: to 5.0 of 14 ms there, too.
constexpr double kConversionShare = 1 - kConvolutionFirst.likely * 5.0 / 14;
// Where shapes tell: of the time that the roofline says.
constexpr Range3 kOfConvolution = {1.35, 1.0, 0.8};
// Depthwise convolutions of an EfficientNet with channels last: 0.8 by time, 0.5 to 1 in most
// calls.
constexpr Range3 kDepthwise = {1.1, 0.8, 0.55};
// Batch norms leave cuDNN, which torch asks for no bfloat16. In channels-last order what
// batch_norm_parts.h says, without shapes 0.60 of the time (ResNet-50, 10.8 ms to 6.4); torch's own
// NCHW kernels give each channel one block.
constexpr Range3 kBatchNormLast = {0.8, 0.6, 0.5}, kBatchNormFirst = {1.8, 1.0, 0.6};
constexpr Range3 kOfBatchNorm = {1.25, 1.0, 0.8};
// cuDNN's own in float16, of their time in fp32 (H200): NCHW 0.84 in a ResNet-50 of 64 images, 0.67
// of 8, 1.0 in a VGG; with channels last 3.3 ms where NCHW takes 9.1, by bytes half of fp32's.
constexpr Range3 kCudnnNormFirst = {1.05, 0.85, 0.65}, kCudnnNormLast = {0.8, 0.55, 0.45};
constexpr double kCudnnNormLayout = 1 - 3.3 / 9.1;
// Of what fused attention takes in half precision: with dropout 1.7 times as long as without.
constexpr Range3 kOfFusedAttention = {1.7, 1.0, 0.7};
// A gradient scaler reads and writes each gradient before the optimizer does: of the time of the
// optimizer's kernels 0.29 and 0.27 (SGD with momentum, a ResNet-50 and a VGG on an H200), 0.10
// (AdamW, a ViT). Then the host asks the device for infinities and waits, so that what it launches
// for the optimizer takes the device the host's time; fused optimizers ask on the device.
constexpr Range3 kOfOptimizer = {0.4, 0.2, 0.1};
constexpr Range3 kOfWait = {1.3, 1.0, 0.3};  // of that time; not measured
// Matrix work in half precision already: more than this share, and autocast is there.
constexpr double kAlready = 0.5;
// Of the kernels' time, what operators must account for.
constexpr double kLeastWithOperators = 0.5;

bool IsHalfAlready(Precision precision) {
  return precision == Precision::kBf16 || precision == Precision::kFp16 ||
         precision == Precision::kFp8 || precision == Precision::kFp4;
}

struct Target {
  TaskId task = kNoTask;
  Range3 left = {1, 1, 1};  // of its duration above latency
  double layout = 0;        // of what is left, for converting layouts
  bool half = false;
};
struct Cast {
  TaskId work = kNoTask;  // that waits for it
  TaskId host = kNoTask;  // host code before its launch
  int count = 0;
  double streams_ns = 0, parameters_ns = 0;
};

// What an optimizer's step does, before which gradients are unscaled.
struct Unscaling {
  std::vector<TaskId> work;  // in launch order
  std::vector<TaskId> host;  // beside it, once it has waited; empty: it does not wait
};

struct Found {
  std::vector<Target> targets;
  std::vector<Cast> casts;
  std::vector<Unscaling> unscalings;
  std::vector<TaskId> typical;  // launches of operators over tensors
  double matrix_ns = 0;
  bool shapes = false;
};

// Of matrix work, by the format: as much further from what is likely, as a factor.
Range3 Spread(const Range3& range, double by) {
  if (by == 1) return range;  // to the last digit
  const auto further = [&](double end) { return range.likely * std::pow(end / range.likely, by); };
  return {further(range.least), range.likely, further(range.most)};
}

class HalfAutocast : public Edit {
 public:
  HalfAutocast(const HalfFormat& format, Found found) : format_(format), found_(std::move(found)) {}

  void Apply(const Model& model, Guess guess, Plan& plan) const override {
    const Graph& graph = model.graph();
    const double cast_host = kCastHost.At(guess) * TypicalHost(graph, plan);
    plan.layout_ns.resize(graph.tasks.size(), 0);
    for (const Target& target : found_.targets) {
      const auto before = static_cast<double>(plan.duration_ns[target.task]);
      const double latency = std::min(before, kKernelLatencyNs);
      const double after = latency + (before - latency) * target.left.At(guess);
      plan.duration_ns[target.task] = static_cast<Nanos>(after);
      plan.layout_ns[target.task] = static_cast<Nanos>(target.layout * after);
      if (target.half) plan.SetMatrix(target.task, MatrixMode::kHalf);
    }
    const double each = kKernelLatencyNs + static_cast<double>(graph.turnaround_ns);
    for (const Cast& cast : found_.casts) {
      if (plan.duration_ns[cast.work] <= 0) continue;  // gone by another edit
      plan.duration_ns[cast.work] +=
          static_cast<Nanos>(kOfCast.At(guess) * cast.streams_ns + cast.parameters_ns +
                             each * static_cast<double>(cast.count));
      if (cast.host != kNoTask) {
        plan.duration_ns[cast.host] +=
            static_cast<Nanos>(cast_host * static_cast<double>(cast.count));
      }
    }
    for (const Unscaling& step : found_.unscalings) Unscale(graph, step, guess, plan);
  }

  std::string Scope(const Model& model) const override {
    const auto steps = static_cast<double>(model.graph().steps);
    int casts = 0;
    for (const Cast& cast : found_.casts) casts += cast.count;
    return fmt::format("{:.2f} ms of matrix work a step in {}, {:.0f} casts a step{}{}",
                       found_.matrix_ns / 1e6 / steps, format_.dtype,
                       static_cast<double>(casts) / steps,
                       found_.unscalings.empty() ? "" : ", gradients scaled",
                       found_.shapes ? "" : "; sizes and alignment not known without shapes");
  }

 private:
  // Host time of an operator over one tensor here and as planned: the lower quartile, since Python
  // between operators is not a cast's.
  double TypicalHost(const Graph& graph, const Plan& plan) const {
    std::vector<Nanos> times;
    times.reserve(found_.typical.size());
    for (const TaskId call : found_.typical) {
      const TaskId before = graph.before[call];
      const bool host = before != kNoTask && graph.tasks[before].kind == TaskKind::kHost;
      times.push_back(plan.duration_ns[call] + (host ? plan.duration_ns[before] : 0));
    }
    if (times.empty()) return 0;
    const auto at = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 4);
    std::nth_element(times.begin(), at, times.end());
    return static_cast<double>(*at);
  }

  // The first kernel carries all of it: before the others, and behind the gradients.
  static void Unscale(const Graph& graph, const Unscaling& step, Guess guess, Plan& plan) {
    double device = 0, host = 0;
    for (const TaskId task : step.work) device += static_cast<double>(plan.duration_ns[task]);
    for (const TaskId task : step.host) host += static_cast<double>(plan.duration_ns[task]);
    const double lag = step.host.empty() ? 0 : static_cast<double>(graph.launch_lag_ns);
    const double wait = lag + std::max(0.0, host - device);
    plan.duration_ns[step.work.front()] += static_cast<Nanos>(
        kKernelLatencyNs + kOfOptimizer.At(guess) * device + kOfWait.At(guess) * wait);
  }

  const HalfFormat& format_;
  const Found found_;
};

class Finder {
 public:
  Finder(const Model& model, const HalfFormat& format)
      : model_(model),
        format_(format),
        peaks_(*model.peaks()),
        products_(model, MatrixFormat::Half(peaks_)),
        convolutions_(model, products_.calls()),
        bandwidth_(ReachedBandwidth(peaks_)) {}

  Found Find(const std::vector<AutocastCall>& calls) {
    found_.shapes = products_.has_shapes();
    if (format_.scaled) FindUnscalings();
    nchw_ = IsNchw(calls);
    for (const AutocastCall& call : calls) {
      Left left;
      if (IsWhole(call)) {
        left = call.kind == CallKind::kBatchNorm ? OfBatchNorm(call) : OfConvolution(call);
      }
      for (const TaskId task : call.work) AddTarget(call, task, left);
      AddCasts(call);
    }
    return std::move(found_);
  }

 private:
  // By the first kernel of each convolution whose name tells the layout of what it is given. NCHW
  // is what programs have that say nothing.
  bool IsNchw(const std::vector<AutocastCall>& calls) const {
    std::int64_t first = 0, last = 0;
    for (const AutocastCall& call : calls) {
      if (call.kind != CallKind::kConvolution) continue;
      for (const TaskId task : call.work) {
        const std::string_view name = model_.trace().DeviceName(model_.graph().tasks[task].row);
        const auto has = [&](std::string_view word) {
          return name.find(word) != std::string_view::npos;
        };
        const bool nchw = has("nchwToNhwc") || has("nchwToFolded") || has("nchwkcrs");
        if (!nchw && !has("nhwcToNchw") && !has("nhwckrsc") && !has("_nhwc_")) continue;
        ++(nchw ? first : last);
        break;
      }
    }
    return first >= last;
  }

  Range3 LeftOfGain(double gain) const {
    const Range3 of = Spread(found_.shapes ? kOfGain : kOfGainUnshaped, format_.spread);
    return {1 / (1 + of.least * (gain - 1)), 1 / (1 + of.likely * (gain - 1)),
            1 / (1 + of.most * (gain - 1))};
  }
  Range3 LeftOfStream(const AutocastCall& call, RowId work) const {
    double left = call.kind == CallKind::kStream ? call.left : 0.5;
    const std::string_view name = model_.trace().DeviceName(work);
    const bool one_by_one = name.find("::elementwise_kernel<") != std::string_view::npos;
    if (call.two_types && !call.backward && !one_by_one) return Scaled(kOfTwoTypes, left);
    if (one_by_one) left = 1 - kOneByOne * (1 - left);
    if (name.find("reduce_kernel<") != std::string_view::npos) left = 1 - kReduced * (1 - left);
    return {1 - kOfSaved.least * (1 - left), 1 - kOfSaved.likely * (1 - left),
            1 - kOfSaved.most * (1 - left)};
  }
  static Range3 Scaled(const Range3& of, double left) {
    return {of.least * left, of.likely * left, of.most * left};
  }

  double TimeOf(const AutocastCall& call) const {
    double time = 0;
    for (const TaskId task : call.work) {
      time += static_cast<double>(model_.graph().tasks[task].duration_ns);
    }
    return time;
  }

  // A call as a whole: conversions are launched beside the product.
  struct Left {
    Range3 left = {1, 1, 1};
    double layout = 0;
  };
  Left OfConvolution(const AutocastCall& call) const {
    const double time = TimeOf(call);
    const bool plain = std::any_of(call.work.begin(), call.work.end(), [&](TaskId task) {
      return RunsOnPlainCores(model_.Traits(model_.graph().tasks[task].row));
    });
    const auto shaped = convolutions_.Find(call.op);
    const bool depthwise = shaped
                               ? shaped->kind == ConvolutionTimes::Kind::kDepthwise
                               : std::any_of(call.work.begin(), call.work.end(), [&](TaskId task) {
                                   const RowId row = model_.graph().tasks[task].row;
                                   return IsDepthwiseKernel(model_.trace().DeviceName(row));
                                 });
    if (depthwise) return {Spread(kDepthwise, format_.spread), 0};
    if (!shaped) {
      const Range3 over = Spread(nchw_ ? kConvolutionFirst : kConvolutionLast, format_.spread);
      const double tf32 = plain ? ConvolutionGain(peaks_) : 1;
      return {{1 / (tf32 * over.least), 1 / (tf32 * over.likely), 1 / (tf32 * over.most)},
              nchw_ ? kConversionShare : 0};
    }
    using Format = ConvolutionFormat;
    const double last = convolutions_.Of(*shaped, Format::kHalfLast);
    const double half = nchw_ ? convolutions_.Of(*shaped, Format::kHalf) : last;
    // What a call on matrix units takes longer or less long than the roofline says, it does in
    // either type.
    const bool measured = plain || peaks_.tf32 <= 0;
    const double as_run =
        measured ? time : convolutions_.Of(*shaped, nchw_ ? Format::kTf32 : Format::kTf32Last);
    if (as_run <= 0) return {};
    return {Scaled(Spread(kOfConvolution, format_.spread), half / as_run),
            std::max(0.0, 1 - last / half)};
  }

  Left OfBatchNorm(const AutocastCall& call) const {
    if (format_.cudnn_norms && HasWord(call, "cudnn")) {
      return {Spread(nchw_ ? kCudnnNormFirst : kCudnnNormLast, format_.spread),
              nchw_ ? kCudnnNormLayout : 0};
    }
    const double tensor = products_.FirstTensor(call.op), channels = products_.Channels(call.op);
    if (tensor <= 0 || bandwidth_ <= 0) {
      return {nchw_ ? kBatchNormFirst : kBatchNormLast, nchw_ ? 1 - kBatchNormLast.likely : 0};
    }
    const double time = TimeOf(call);
    if (time <= 0) return {};
    const double bytes = 2 * tensor;
    const double last = call.backward ? kNormBackward.LastNs(bytes, bandwidth_)
                                      : kNormStatistics.LastNs(bytes, bandwidth_) +
                                            kNormTransform.LastNs(bytes, bandwidth_);
    if (!nchw_) return {Scaled(kOfBatchNorm, last / time), 0};
    const double passes =
        call.backward ? FirstBackwardPasses(channels) : FirstForwardPasses(channels);
    const double first = std::max(last, passes * bytes / bandwidth_);
    return {Scaled(kOfBatchNorm, first / time), 1 - last / first};
  }

  void AddTarget(const AutocastCall& call, TaskId task, const Left& of_call) {
    const Task& kernel = model_.graph().tasks[task];
    const KernelTraits& traits = model_.Traits(kernel.row);
    if (IsHalfAlready(traits.precision)) return;
    Target target{task, {1, 1, 1}, 0, call.half};
    if (call.half && analyze::IsMatrixFamily(traits.family)) {
      found_.matrix_ns += static_cast<double>(kernel.duration_ns);
    }
    if (IsWhole(call)) {
      target.left = of_call.left;
      target.layout = of_call.layout;
    } else if (call.kind == CallKind::kProduct && traits.family == KernelFamily::kAttention) {
      if (kernel.duration_ns <= 0) return;
      target.left = Scaled(Spread(kOfFusedAttention, format_.spread),
                           products_.FusedAttentionInHalf(kernel, Attention(call)) /
                               static_cast<double>(kernel.duration_ns));
    } else if (call.kind == CallKind::kProduct && traits.family == KernelFamily::kMatmul) {
      target.left = LeftOfGain(products_.Of(kernel));
    } else {
      target.left = LeftOfStream(call, kernel.row);
    }
    if (target.left.likely != 1 || target.half) found_.targets.push_back(target);
  }

  std::size_t Attention(const AutocastCall& call) const {
    return static_cast<std::size_t>(
        std::count_if(call.work.begin(), call.work.end(), [&](TaskId task) {
          return model_.Traits(model_.graph().tasks[task].row).family == KernelFamily::kAttention;
        }));
  }

  bool IsWhole(const AutocastCall& call) const {
    if (call.kind == CallKind::kBatchNorm) return call.half;
    return call.kind == CallKind::kConvolution && !HasWord(call, "depthwise");
  }
  bool HasWord(const AutocastCall& call, std::string_view word) const {
    return model_.trace().HostName(call.op).find(word) != std::string_view::npos;
  }

  void AddCasts(const AutocastCall& call) {
    const Graph& graph = model_.graph();
    const RowId api = model_.trace().device.api[graph.tasks[call.work.front()].row];
    const TaskId launch = api == kNoRow ? kNoTask : graph.of_host[api];
    if (call.kind == CallKind::kStream && launch != kNoTask) found_.typical.push_back(launch);
    if (call.casts == 0) return;
    Cast cast{call.work.front(), launch, call.casts, call.cast_ns, 0};
    if (call.parameters > 0 && bandwidth_ > 0) {
      cast.parameters_ns = 6 * products_.SmallerMatrix(call.op) / bandwidth_;
    }
    // Where shapes do not tell, by the kernels beside it.
    const double given = cast.streams_ns > 0 ? products_.FirstTensor(call.op) : 0;
    if (given > 0 && bandwidth_ > 0) cast.streams_ns = 6 * given / bandwidth_;
    found_.casts.push_back(cast);
  }

  void FindUnscalings() {
    const trace::HostSlices& host = model_.trace().host;
    using Place = std::pair<std::uint16_t, Nanos>;  // lane and time
    const auto begin = [&](const OptimizerStep& mark) {
      return Place(model_.LaneOf(mark.row), mark.begin_ns);
    };
    std::vector<OptimizerStep> marks = model_.optimizer_steps();
    std::ranges::sort(marks, {}, begin);
    std::vector<Unscaling> steps(marks.size());
    const auto around = [&](const Place& place) -> Unscaling* {
      const auto next = std::ranges::upper_bound(marks, place, {}, begin);
      if (next == marks.begin()) return nullptr;
      const RowId mark = std::prev(next)->row;
      const bool inside = model_.LaneOf(mark) == place.first && place.second < host.end_ns(mark);
      return inside ? &steps[static_cast<std::size_t>(next - marks.begin()) - 1] : nullptr;
    };
    const std::vector<Task>& tasks = model_.graph().tasks;
    for (TaskId t = 0; t < tasks.size(); ++t) {
      const bool kernel = tasks[t].kind == TaskKind::kKernel;
      const RowId api = kernel ? model_.trace().device.api[tasks[t].row] : kNoRow;
      if (kernel && api == kNoRow) continue;
      Unscaling* step = around(kernel ? Place(model_.LaneOf(api), host.start_ns[api])
                                      : Place(tasks[t].lane, tasks[t].start_ns));
      if (step != nullptr) (kernel ? step->work : step->host).push_back(t);
    }
    for (Unscaling& step : steps) {
      if (step.work.empty()) continue;
      const RowId first = tasks[step.work.front()].row;
      if (IsFusedOptimizer(model_.trace().DeviceName(first))) step.host.clear();
      found_.unscalings.push_back(std::move(step));
    }
  }

  const Model& model_;
  const HalfFormat& format_;
  const analyze::DevicePeaks& peaks_;
  ProductGains products_;
  const ConvolutionTimes convolutions_;
  const double bandwidth_;  // bytes a nanosecond
  bool nchw_ = true;
  Found found_;
};

// Why autocast has nothing to change here; empty: it has.
std::string WhyNot(const Model& model) {
  double matrix = 0, half = 0, all = 0, with_operator = 0;
  for (const Task& task : model.graph().tasks) {
    if (task.kind != TaskKind::kKernel) continue;
    const KernelTraits& traits = model.Traits(task.row);
    const auto duration = static_cast<double>(task.duration_ns);
    all += duration;
    if (model.trace().device.op[task.row] != kNoRow) with_operator += duration;
    if (!analyze::IsMatrixFamily(traits.family)) continue;
    matrix += duration;
    if (IsHalfAlready(traits.precision)) half += duration;
  }
  if (matrix <= 0) return "no matrix product or convolution runs on the device in the steps";
  if (half > kAlready * matrix) {
    const auto steps = static_cast<double>(model.graph().steps);
    return fmt::format("{:.2f} of {:.2f} ms of matrix work a step are in half precision already",
                       half / 1e6 / steps, matrix / 1e6 / steps);
  }
  if (with_operator < kLeastWithOperators * all) {
    return "no operators around the kernels in this trace, so their types cannot be followed; "
           "record CPU activities too";
  }
  return {};
}

// Why this format is not the device's; empty: it is.
std::string WhyNotHere(const analyze::DevicePeaks& peaks, const HalfFormat& format) {
  const HalfFormat* best = HalfFormatOf(peaks);
  if (best == &format) return {};
  if (format.Tflops(peaks) <= 0) {
    return fmt::format("this device has no units for {}{}", format.dtype,
                       best == nullptr ? "" : fmt::format("; ask for {}", best->fix));
  }
  return fmt::format(
      "this device multiplies {} too, which needs no scaling of the loss; ask for {}", best->dtype,
      best->fix);
}

FoundEdit FindHalfAutocast(const Model& model, const HalfFormat& format) {
  if (!model.peaks()) return FoundEdit::Absent(model.peaks().why_not());
  std::string why = WhyNotHere(*model.peaks(), format);
  if (why.empty()) why = WhyNot(model);
  if (!why.empty()) return FoundEdit::Absent(why);
  Found found = Finder(model, format).Find(FollowAutocast(model));
  if (found.matrix_ns <= 0) {
    return FoundEdit::Absent(
        fmt::format("no operator that autocast runs in {} launches matrix work", format.dtype));
  }
  return FoundEdit(std::make_unique<HalfAutocast>(format, std::move(found)));
}

}  // namespace

FoundEdit FindBf16Autocast(const Model& model) { return FindHalfAutocast(model, kBfloat16); }
FoundEdit FindFp16Autocast(const Model& model) { return FindHalfAutocast(model, kFloat16); }

}  // namespace hone::replay
