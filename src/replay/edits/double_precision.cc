// SPDX-License-Identifier: Apache-2.0
// double-precision: what is computed in float64 is computed in float32.
#include "replay/edits/double_precision.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string_view>

#include "analyze/flops.h"
#include "analyze/slice_times.h"
#include "base/text.h"
#include "replay/edits/edits.h"

namespace hone::replay {
namespace {

using analyze::KernelFamily;
using analyze::Precision;
using trace::kNoRow;
using trace::RowId;

// Of an operator's time on the CPU beyond what calling it takes. torch 2.13 on one core: products
// 0.50, sums and copies 0.50, softplus, tanh and softmax 0.41 to 0.55, gelu 0.14 to 0.29, layer
// norms 0.70. Convolutions 0.16 and 0.24: oneDNN has none for float64.
constexpr Range3 kHostLeft = {0.7, 0.5, 0.4}, kHostConvolutionLeft = {0.45, 0.22, 0.15};
constexpr Nanos kCallNs = 2'000;
// On a device bytes are halved; arithmetic beside them may be slower by any factor.
constexpr Range3 kTrafficLeft = {0.75, 0.5, 0.35};
// Of the ratio of the peaks, what products gain at least and at most. Not measured: no recording
// of float64 on a device is at hand.
constexpr Range3 kOfRatio = {1.5, 1.0, 0.7};
constexpr Range3 kUnknownRatio = {1.0, 0.6, 0.1};
constexpr double kLeastRatio = 1.0 / 64;
constexpr double kKernelLatencyNs = 1'500;

// Whether the largest floating-point tensor that each combination of arguments holds is float64: a
// number beside tensors of another type computes in theirs.
std::vector<bool> DoubleDetails(const trace::Trace& trace) {
  std::vector<bool> is_double(trace.op_details.size(), false);
  for (std::size_t d = 1; d < trace.op_details.size(); ++d) {
    const trace::OpDetail& detail = trace.op_details[d];
    if (trace.Name(detail.types).find("\"double\"") == std::string_view::npos) continue;
    double largest = 1, largest_double = 1;
    for (const analyze::ArgumentShape& argument :
         analyze::ParseArguments(trace.Name(detail.dims), trace.Name(detail.types), {})) {
      if (!argument.IsTensor()) continue;
      const double elements = argument.Elements();
      const Precision precision = analyze::TypePrecision(argument.type);
      if (precision == Precision::kFp64) {
        largest_double = std::max(largest_double, elements);
      } else if (precision != Precision::kInt && precision != Precision::kInt8) {
        largest = std::max(largest, elements);
      }
    }
    is_double[d] = largest_double > 1 && largest_double >= largest;
  }
  return is_double;
}

bool IsConvolution(std::string_view op) { return op.find("conv") != std::string_view::npos; }

void LookAtHost(const Model& model, const std::vector<bool>& is_double, DoublePrecision& found) {
  const trace::HostSlices& host = model.trace().host;
  std::vector<RowId> owner(host.size(), kNoRow);  // outermost operator on float64 around it
  const std::vector<Nanos> self = analyze::SelfTimes(model.trace());
  for (RowId i = 0; i < host.size(); ++i) {
    const RowId parent = host.parent[i];
    if (parent != kNoRow) owner[i] = owner[parent];
    if (host.kind[i] != trace::SliceKind::kOp) continue;
    if (owner[i] == kNoRow && is_double[host.detail[i]] && model.InWindow(i)) owner[i] = i;
  }
  std::array<std::vector<double>, 3> gone;
  for (auto& of_owner : gone) of_owner.assign(host.size(), 0);
  Nanos longest = 0;
  for (RowId i = 0; i < host.size(); ++i) {
    if (owner[i] == kNoRow || !is_double[host.detail[i]] || self[i] <= kCallNs) continue;
    found.time_ns += static_cast<double>(self[i]);
    if (self[i] > longest) {
      longest = self[i];
      found.longest = i;
    }
    const Range3 left = IsConvolution(model.trace().HostName(i)) ? kHostConvolutionLeft : kHostLeft;
    for (std::size_t guess = 0; guess < gone.size(); ++guess) {
      gone[guess][owner[i]] +=
          (1 - left.At(static_cast<Guess>(guess))) * static_cast<double>(self[i] - kCallNs);
    }
  }
  for (RowId i = 0; i < host.size(); ++i) {
    if (gone[0][i] <= 0) continue;
    for (std::size_t guess = 0; guess < gone.size(); ++guess) {
      found.spans[guess].push_back({model.LaneOf(i),
                                    {host.start_ns[i], host.end_ns(i)},
                                    host.duration_ns[i] - static_cast<Nanos>(gone[guess][i])});
    }
  }
}

Range3 ProductsLeft(const Model& model) {
  if (!model.peaks() || model.peaks()->fp64 <= 0 || model.peaks()->fp32 <= 0) return kUnknownRatio;
  const double ratio = std::max(kLeastRatio, model.peaks()->fp64 / model.peaks()->fp32);
  return {std::min(1.0, kOfRatio.least * ratio), std::min(1.0, kOfRatio.likely * ratio),
          std::min(1.0, kOfRatio.most * ratio)};
}

void LookAtDevice(const Model& model, const std::vector<bool>& is_double, DoublePrecision& found) {
  const trace::Trace& trace = model.trace();
  const Range3 products = ProductsLeft(model);
  Nanos longest = 0;
  for (TaskId t = 0; t < model.graph().tasks.size(); ++t) {
    const Task& task = model.graph().tasks[t];
    if (task.kind != TaskKind::kKernel) continue;
    const analyze::KernelTraits& traits = model.Traits(task.row);
    const RowId op = trace.device.op[task.row];
    const bool by_op =
        traits.precision == Precision::kUnknown && op != kNoRow && is_double[trace.host.detail[op]];
    if (traits.precision != Precision::kFp64 && !by_op) continue;
    const bool multiplies = traits.family == KernelFamily::kMatmul ||
                            traits.family == KernelFamily::kConvolution ||
                            traits.family == KernelFamily::kAttention;
    found.work.push_back({t, multiplies ? products : kTrafficLeft});
    found.time_ns += static_cast<double>(task.duration_ns);
    if (task.duration_ns > longest) {
      longest = task.duration_ns;
      found.longest = task.row;
    }
  }
}

class SinglePrecision : public Edit {
 public:
  SinglePrecision(const Model& model, DoublePrecision found)
      : host_{HostCut(model.graph(), std::move(found.spans[0])),
              HostCut(model.graph(), std::move(found.spans[1])),
              HostCut(model.graph(), std::move(found.spans[2]))},
        work_(std::move(found.work)),
        time_ns_(found.time_ns) {}

  void Apply(const Model& model, Guess guess, Plan& plan) const override {
    host_[static_cast<std::size_t>(guess)].Apply(model.graph(), 1.0, plan);
    for (const DoublePrecision::Work& work : work_) {
      const auto duration = static_cast<double>(plan.duration_ns[work.task]);
      const double moves = std::max(0.0, duration - kKernelLatencyNs);
      plan.duration_ns[work.task] =
          static_cast<Nanos>(duration - (1 - work.left.At(guess)) * moves);
    }
  }

  std::string Scope(const Model& model) const override {
    return fmt::format("{} ms a step in float64",
                       ThreeDigits(time_ns_ / 1e6 / static_cast<double>(model.graph().steps)));
  }

 private:
  const std::array<HostCut, 3> host_;  // by Guess
  const std::vector<DoublePrecision::Work> work_;
  const double time_ns_;
};

}  // namespace

DoublePrecision LookAtDoublePrecision(const Model& model) {
  DoublePrecision found;
  const std::vector<bool> is_double = DoubleDetails(model.trace());
  if (model.trace().device.size() == 0) {
    LookAtHost(model, is_double, found);
  } else {
    LookAtDevice(model, is_double, found);
  }
  return found;
}

FoundEdit FindDoublePrecision(const Model& model) {
  if (model.trace().device.size() == 0 && !model.facts().trust.present.shapes) {
    return FoundEdit::Absent("the types of tensors are not in this trace");
  }
  DoublePrecision found = LookAtDoublePrecision(model);
  if (found.empty()) return FoundEdit::Absent("nothing in the steps computes in float64");
  return FoundEdit(std::make_unique<SinglePrecision>(model, std::move(found)));
}

}  // namespace hone::replay
