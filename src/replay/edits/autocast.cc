// SPDX-License-Identifier: Apache-2.0
#include "replay/edits/autocast.h"

#include <unordered_map>
#include <utility>

#include "analyze/autograd_engine.h"
#include "analyze/forward_index.h"
#include "replay/edits/autograd_numbers.h"

namespace hone::replay {
namespace {

using trace::kNoRow;
using trace::RowId;

// Bytes an element, against four in and four out: half of both; a cast; two tensors of which one is
// half, into fp32.
constexpr double kHalfLeft = 0.5, kCastBytes = 6.0 / 8, kMixedLeft = 10.0 / 12;

// What is known of one name, judged once.
struct OpName {
  bool judged = false, backward = false, normalizes = false, batch_norm = false;
  bool convolution = false, weighs = false, biased = false;
  AutocastRole role = AutocastRole::kNone;
};

OpName Judge(std::string_view name) {
  OpName op;
  op.judged = true;
  op.backward = analyze::IsEngineSlice(name);
  op.role = AutocastRoleOf(name);
  const auto has = [&](std::string_view word) { return name.find(word) != std::string_view::npos; };
  op.batch_norm = has("batch_norm");
  op.normalizes = has("layer_norm") || has("group_norm") || has("rms_norm");
  op.convolution = op.role == AutocastRole::kHalf && has("conv");
  op.biased = has("addmm");
  op.weighs = op.convolution || op.biased || name == "aten::mm" || name == "aten::mv";
  return op;
}

// One of the operands is a number, as the kernels' names tell.
bool HasScalar(std::string_view kernel) {
  for (const std::string_view word : {"AUnaryFunctor", "BUnaryFunctor", "OnSelf_"}) {
    if (kernel.find(word) != std::string_view::npos) return true;
  }
  return false;
}

// The type of the tensor that was made last on a thread, and how long its kernel took.
struct Running {
  bool half = false;
  bool float_beside = false;  // the other tensor, where two meet
  bool product = false;       // it is a product's, and the next product may take the same input
  bool product_took_float = false;
  double stream_ns = 0, product_input_ns = 0;
};

class Follower {
 public:
  explicit Follower(const Model& model)
      : model_(model),
        trace_(model.trace()),
        names_(trace_.strings.size()),
        numbers_(trace_),
        running_(trace_.threads.size()) {}

  std::vector<AutocastCall> Follow() {
    Collect();
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      if (!calls_[i].backward) Forward(i);
    }
    for (AutocastCall& call : calls_) {
      if (call.backward) Backward(call);
    }
    return std::move(calls_);
  }

 private:
  const OpName& NameOf(RowId op) {
    OpName& name = names_[static_cast<std::uint32_t>(trace_.host.name[op])];
    if (!name.judged) name = Judge(trace_.HostName(op));
    return name;
  }

  // Operators around launches; rows of one thread stand in the order of time.
  void Collect() {
    const Graph& graph = model_.graph();
    for (RowId i = 0; i < trace_.host.size(); ++i) {
      if (trace_.host.kind[i] != trace::SliceKind::kApi) continue;
      const RowId work = model_.WorkOf(i);
      const RowId op = work == kNoRow ? kNoRow : model_.lineage().op[i];
      if (op == kNoRow || graph.of_device[work] == kNoTask || model_.InOptimizer(work) ||
          trace_.device.kind[work] != trace::WorkKind::kKernel) {
        continue;
      }
      if (calls_.empty() || calls_.back().op != op) {
        calls_.push_back({});
        calls_.back().op = op;
        const RowId top = model_.lineage().top_op[i];
        calls_.back().backward = NameOf(top).backward || analyze::IsBackward(trace_, top);
      }
      calls_.back().work.push_back(graph.of_device[work]);
    }
  }

  double TimeOf(const AutocastCall& call) const {
    double time = 0;
    for (const TaskId task : call.work) {
      time += static_cast<double>(model_.graph().tasks[task].duration_ns);
    }
    return time;
  }

  void Forward(std::size_t index) {
    AutocastCall& call = calls_[index];
    const OpName& name = NameOf(call.op);
    Running& now = running_[trace_.host.thread[call.op]];
    switch (name.role) {
      case AutocastRole::kNone: return;
      case AutocastRole::kFresh:
        now = {};
        now.float_beside = true;
        break;
      case AutocastRole::kHalf: Product(name, now, call); break;
      case AutocastRole::kFloat: Float(name, now, call); break;
      case AutocastRole::kPromotes:
      case AutocastRole::kFollows: Stream(name, now, call); break;
    }
    if (name.role != AutocastRole::kHalf) {
      now.product = false;
      now.stream_ns = TimeOf(call);
    }
    Remember(index);
  }

  // Of operators that carry one number the last made the autograd node; of those inside one call
  // the first (a convolution, and the addition of its bias after it).
  void Remember(std::size_t index) {
    const std::int64_t sequence = numbers_.Of(calls_[index].op);
    if (sequence < 0) return;
    const auto top = [&](std::size_t i) { return model_.lineage().top_op[calls_[i].op]; };
    const auto [at, added] = by_sequence_.try_emplace(sequence, index);
    if (!added && top(at->second) != top(index)) at->second = index;
  }

  static void Product(const OpName& name, Running& now, AutocastCall& call) {
    call.kind = name.convolution ? CallKind::kConvolution : CallKind::kProduct;
    call.half = true;
    // Queries, keys and values are three products of one tensor, which is cast for each.
    const bool same_input = now.product && name.weighs;
    const bool took_float = same_input ? now.product_took_float : !now.half;
    const double input_ns = same_input ? now.product_input_ns : now.stream_ns;
    if (took_float) {
      call.casts += 1;
      call.cast_ns += kCastBytes * input_ns;
    }
    if (name.weighs) call.parameters = name.biased ? 2 : 1;
    call.casts += call.parameters;
    now.half = now.product = true;
    now.product_took_float = took_float;
    now.product_input_ns = input_ns;
  }

  void Float(const OpName& name, Running& now, AutocastCall& call) const {
    if (now.half) {
      call.casts = 1;
      call.cast_ns = kCastBytes * TimeOf(call);
    }
    now.half = false;
    now.float_beside = now.float_beside || name.normalizes;
  }

  void Stream(const OpName& name, Running& now, AutocastCall& call) const {
    if (name.batch_norm) call.kind = CallKind::kBatchNorm;
    if (!now.half) return;
    call.half = true;
    call.left = kHalfLeft;
    const std::string_view kernel = trace_.DeviceName(model_.graph().tasks[call.work.front()].row);
    if (name.role != AutocastRole::kPromotes || !now.float_beside || HasScalar(kernel)) return;
    call.left = kMixedLeft;
    call.two_types = true;
    call.half = now.half = false;
  }

  void Backward(AutocastCall& call) {
    const OpName& name = NameOf(call.op);
    if (name.role == AutocastRole::kNone) return;
    // The engine's own slice carries the number, or the gradient's function inside it.
    const std::int64_t of_engine = numbers_.Of(model_.lineage().top_op[call.op]);
    const std::int64_t sequence = of_engine >= 0 ? of_engine : numbers_.Of(call.op);
    const auto found = by_sequence_.find(sequence);
    const bool product = name.role == AutocastRole::kHalf;
    if (product) call.kind = name.convolution ? CallKind::kConvolution : CallKind::kProduct;
    if (product) call.half = true;
    if (sequence < 0 || found == by_sequence_.end()) return;
    const AutocastCall& forward = calls_[found->second];
    // Gradients that meet are added in the residual stream's type, which is the forward's.
    call.half = product || forward.half;
    if (name.batch_norm) call.kind = CallKind::kBatchNorm;
    if (!product) call.left = forward.half ? kHalfLeft : forward.left;
    // Each cast is cast back, once.
    if (std::exchange(returned_[found->second], true)) return;
    call.casts = forward.casts;
    call.parameters = forward.parameters;
    call.cast_ns = forward.cast_ns;
  }

  const Model& model_;
  const trace::Trace& trace_;
  std::vector<OpName> names_;  // by StringId
  const AutogradNumbers numbers_;
  std::vector<Running> running_;  // by thread
  std::vector<AutocastCall> calls_;
  std::unordered_map<std::int64_t, std::size_t> by_sequence_;
  std::unordered_map<std::size_t, bool> returned_;
};

}  // namespace

std::vector<AutocastCall> FollowAutocast(const Model& model) { return Follower(model).Follow(); }

}  // namespace hone::replay
