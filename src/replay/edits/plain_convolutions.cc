// SPDX-License-Identifier: Apache-2.0
#include "replay/edits/plain_convolutions.h"

#include <algorithm>
#include <vector>

#include "replay/edits/autograd_numbers.h"
#include "replay/edits/product_gains.h"

namespace hone::replay {
namespace {

using trace::kNoRow;
using trace::RowId;

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

bool IsBackward(std::string_view op) { return op.find("backward") != std::string_view::npos; }

}  // namespace

std::uint32_t LaunchesOnUnits(std::string_view convolution) {
  return IsBackward(convolution) ? kBackwardLaunches : kForwardLaunches;
}

PlainConvolutions::PlainConvolutions(const Model& model, const analyze::ModelledCalls* shapes)
    : model_(model), times_(model, shapes), usual_gain_(ConvolutionGain(*model.peaks())) {
  ReadCalls();
  std::vector<RowId> unshaped;
  for (auto& [op, call] : calls_) {
    if (!call.plain) continue;
    if (const auto shaped = times_.Find(op)) {
      call.gain = ByShape(call, *shaped);
    } else {
      unshaped.push_back(op);
    }
  }
  if (unshaped.empty()) return;
  const AutogradNumbers numbers(model.trace());
  std::unordered_map<std::int64_t, RowId> forward;  // by number; of several the last
  for (const auto& [op, call] : calls_) {
    if (IsBackward(model.trace().HostName(op)) || numbers.Of(op) < 0) continue;
    RowId& last = forward.try_emplace(numbers.Of(op), op).first->second;
    last = std::max(last, op);
  }
  for (const RowId op : unshaped) {
    const auto found = forward.find(numbers.Of(op));
    Call& call = calls_[op];
    call.gain = ByForward(op, call, found == forward.end() ? nullptr : &calls_[found->second]);
  }
}

void PlainConvolutions::ReadCalls() {
  const trace::Trace& trace = model_.trace();
  for (const Task& task : model_.graph().tasks) {
    if (task.kind != TaskKind::kKernel) continue;
    const RowId op = trace.device.op[task.row];
    if (op == kNoRow || !IsConvolution(trace.HostName(op))) continue;
    Call& call = calls_[op];
    ++call.launches;
    call.time_ns += static_cast<double>(task.duration_ns);
    call.plain = call.plain || RunsOnPlainCores(model_.Traits(task.row));
    call.depthwise = call.depthwise || IsDepthwiseKernel(trace.DeviceName(task.row));
  }
}

double PlainConvolutions::ByShape(const Call& call, const ConvolutionTimes::Call& shaped) const {
  if (shaped.kind == ConvolutionTimes::Kind::kDepthwise) {
    return shaped.backward ? kDepthwiseBackwardGain : 1;
  }
  return std::max(1.0, call.time_ns / times_.Of(shaped, ConvolutionFormat::kTf32));
}

// Without shapes the forward call of the same node tells what its gradients may take.
double PlainConvolutions::ByForward(RowId op, const Call& call, const Call* forward) const {
  const std::string_view name = model_.trace().HostName(op);
  const bool chain = call.launches > LaunchesOnUnits(name);
  const double usual = chain ? kTransformedShare * usual_gain_ : usual_gain_;
  if (forward == nullptr) return usual;
  if (forward->depthwise) return IsBackward(name) ? kDepthwiseBackwardGain : 1;
  if (!IsBackward(name) || forward->time_ns <= 0) return usual;
  const double forward_ns = forward->plain ? forward->time_ns / usual_gain_ : forward->time_ns;
  return std::max(usual, call.time_ns / (kBackwardOfForward * forward_ns));
}

}  // namespace hone::replay
