// SPDX-License-Identifier: Apache-2.0
#include "replay/edits/attention.h"

#include <algorithm>
#include <unordered_map>

#include "analyze/autograd_engine.h"
#include "replay/edits/attention_calls.h"
#include "replay/edits/recompute.h"

namespace hone::replay {
namespace {

using analyze::KernelFamily;
using analyze::Precision;
using trace::kNoRow;
using trace::RowId;

// Scale, mask (two or three), cast, dropout, cast: more between softmax and matmul is other code.
constexpr std::size_t kMostBetween = 9;

// A mask that hides scores, as a causal one does. What is added may be a bias as well.
bool WritesOver(std::string_view op) {
  return op.starts_with("aten::masked_fill") || op.starts_with("aten::where");
}

bool IsHalf(const Model& model, const AttentionCall& product) {
  for (const TaskId task : product.work) {
    const analyze::KernelTraits& traits = model.Traits(model.graph().tasks[task].row);
    if (traits.precision == Precision::kBf16 || traits.precision == Precision::kFp16) return true;
  }
  return false;
}

// Of the operators from `begin` to `end_ns` on its thread.
Nanos ProductsNs(const Model& model, RowId begin, Nanos end_ns) {
  const trace::HostSlices& host = model.trace().host;
  Nanos time = 0;
  for (RowId i = begin; i < host.size() && host.thread[i] == host.thread[begin]; ++i) {
    if (host.start_ns[i] >= end_ns) break;
    if (host.kind[i] != trace::SliceKind::kOp) continue;
    if (IsBatchedProduct(model.trace().HostName(i))) time += host.duration_ns[i];
  }
  return time;
}

// The engine's own slice carries the number, or the gradient's function inside it.
std::int64_t SequenceOf(const Model& model, RowId top) {
  const trace::HostSlices& host = model.trace().host;
  if (host.link[top] >= 0 || top + 1 >= host.size() || host.parent[top + 1] != top) {
    return host.link[top];
  }
  return host.kind[top + 1] == trace::SliceKind::kOp ? host.link[top + 1] : -1;
}

class Finder {
 public:
  explicit Finder(const Model& model) : model_(model), host_(model.trace().host), again_(model) {}

  std::vector<Attention> Find() {
    const bool on_host = model_.trace().device.size() == 0;
    const std::vector<Calls> by_thread =
        on_host ? CallsOnHost(model_, again_) : LaunchingCalls(model_);
    for (const Calls& calls : by_thread) FindForward(calls, on_host);
    if (found_.empty()) return {};
    for (const Calls& calls : by_thread) AddBackward(calls);
    AddBackwardHost();
    for (Attention& attention : found_) {
      std::sort(attention.forward.begin(), attention.forward.end());
      std::sort(attention.backward.begin(), attention.backward.end());
    }
    return std::move(found_);
  }

 private:
  using Calls = std::vector<AttentionCall>;
  static constexpr std::size_t kNowhere = SIZE_MAX;

  // Whether both are of one forward pass, or of one stretch that a backward pass computes again.
  bool Together(RowId a, RowId b) const {
    if (again_.RegionOf(a) != again_.RegionOf(b)) return false;
    return again_.RegionOf(a) != Recompute::kNone ||
           (again_.NodeOf(a) == kNoRow && again_.NodeOf(b) == kNoRow);
  }

  // Index of the batched matmul before or after the softmax at `at`.
  std::size_t FindProduct(const Calls& calls, std::size_t at, int step) const {
    std::size_t before = at, layers = 0;
    for (std::size_t n = 1; n <= kMostBetween + 1; ++n) {
      const std::size_t i = step < 0 ? at - n : at + n;
      const bool ends = step < 0 ? at < n : i >= calls.size();
      if (ends || !Together(calls[at].op, calls[i].op)) {
        return step > 0 && StopsAtProduct(calls[at].op) ? before : kNowhere;
      }
      if (calls[i].role == AttentionRole::kBatched) return i;
      const bool values = step > 0 && calls[i].role == AttentionRole::kLayer && ++layers == 1;
      if (calls[i].role != AttentionRole::kBetween && !values) break;
      before = i;
    }
    return kNowhere;
  }

  // What is computed again ends early, once everything is there that the gradients need: the
  // product behind the softmax, if it is last, is called and launches nothing.
  bool StopsAtProduct(RowId softmax) const {
    const std::uint32_t region = again_.RegionOf(softmax);
    if (region == Recompute::kNone) return false;
    const RowId end = again_.regions()[region].end;
    for (RowId i = softmax + 1; i < end; ++i) {
      if (host_.kind[i] == trace::SliceKind::kOp && IsBatchedProduct(model_.trace().HostName(i))) {
        return true;
      }
    }
    return false;
  }

  void FindForward(const Calls& calls, bool on_host) {
    std::size_t used = 0;  // products belong to one attention only
    for (std::size_t i = 0; i < calls.size(); ++i) {
      if (calls[i].role != AttentionRole::kSoftmax || !Together(calls[i].op, calls[i].op)) continue;
      std::size_t first = FindProduct(calls, i, -1);
      const std::size_t last = FindProduct(calls, i, +1);
      if (first == kNowhere || last == kNowhere || first < used) continue;
      Attention attention;
      attention.softmax = calls[i].op;
      const bool stops = calls[last].role != AttentionRole::kBatched;
      attention.half = IsHalf(model_, calls[stops ? first : last]);
      attention.on_host = on_host;
      for (std::size_t k = first; k < i; ++k) {
        attention.masked = attention.masked || WritesOver(model_.trace().HostName(calls[k].op));
      }
      std::vector<RowId> layers;
      for (std::size_t k = i; k <= last; ++k) {
        if (calls[k].role == AttentionRole::kLayer)
          layers.push_back(again_.OutermostOf(calls[k].op));
      }
      AddForwardHost(calls[first].op, calls[last].op, layers, attention);
      // The operator around the first product makes its factors contiguous, which no fused one
      // asks for.
      while (first > used && PreparesProduct(calls[first - 1], calls[first].op)) --first;
      used = last + 1;
      for (std::size_t k = first; k <= last; ++k) {
        if (calls[k].role == AttentionRole::kLayer) continue;
        attention.dropout = attention.dropout || DropsOut(model_.trace().HostName(calls[k].op));
        attention.forward.insert(attention.forward.end(), calls[k].work.begin(),
                                 calls[k].work.end());
      }
      found_.push_back(std::move(attention));
    }
  }

  bool PreparesProduct(const AttentionCall& call, RowId product) const {
    const RowId around = again_.OutermostOf(product);
    return call.role == AttentionRole::kBetween && again_.OutermostOf(call.op) == around &&
           IsProduct(model_.trace().HostName(around));
  }

  // Adds the operators from the first product to the second, with all that their calls do. What
  // lies around both (a checkpointed layer) has other things in it.
  // Layers between them are not its own.
  void AddForwardHost(RowId first, RowId last, const std::vector<RowId>& layers,
                      Attention& attention) {
    const RowId outer_first = again_.OutermostOf(first), outer_last = again_.OutermostOf(last);
    const bool apart = outer_first != outer_last;
    const RowId begin = apart ? outer_first : first;
    const Nanos end = host_.end_ns(apart ? outer_last : last);
    RowId from = begin;
    for (const RowId layer : layers) {
      AddStretch(first, from, host_.start_ns[layer], attention);
      from = layer;
      while (from < host_.size() && host_.start_ns[from] < host_.end_ns(layer)) ++from;
    }
    AddStretch(first, from, end, attention);
  }

  // From row `begin` on, which `of` is of the same forward pass as.
  void AddStretch(RowId of, RowId begin, Nanos end, Attention& attention) {
    Sequences& sequences = sequences_[ScopeOf(of)];
    for (RowId i = begin; i < host_.size() && host_.thread[i] == host_.thread[of]; ++i) {
      if (host_.start_ns[i] >= end) break;
      if (host_.kind[i] == trace::SliceKind::kOp && host_.link[i] >= 0) {
        sequences.emplace(host_.link[i], found_.size());
      }
    }
    if (model_.LaneOf(of) == UINT16_MAX || begin >= host_.size() || host_.start_ns[begin] >= end) {
      return;
    }
    attention.forward_host.push_back(
        {model_.LaneOf(of), {host_.start_ns[begin], end}, ProductsNs(model_, begin, end)});
  }

  // Threads number their nodes by themselves. What is computed again has gradients of its own in
  // a backward pass that is nested in the same node, if any; else they are the forward pass's.
  RowId ScopeOf(RowId row) const {
    return again_.NodeOf(row) == kNoRow ? kNoRow : model_.lineage().top_op[row];
  }

  std::size_t AttentionOf(RowId node) const {
    const bool nested = model_.lineage().top_op[node] != node;
    const auto scope = sequences_.find(nested ? model_.lineage().top_op[node] : kNoRow);
    if (scope == sequences_.end()) return kNowhere;
    const auto at = scope->second.find(SequenceOf(model_, node));
    return at == scope->second.end() ? kNowhere : at->second;
  }

  void AddBackward(const Calls& calls) {
    for (const AttentionCall& call : calls) {
      const RowId node = again_.NodeOf(call.op);
      if (node == kNoRow || again_.RegionOf(call.op) != Recompute::kNone) continue;
      const std::size_t at = AttentionOf(node);
      if (at == kNowhere) continue;
      std::vector<TaskId>& backward = found_[at].backward;
      backward.insert(backward.end(), call.work.begin(), call.work.end());
    }
  }

  // Host time of the backward nodes; neighbours are one stretch, with the engine's time between
  // them. What a node computes again is not its own.
  void AddBackwardHost() {
    std::size_t before = kNowhere;  // attention of the node before, on the same thread
    std::uint32_t thread = UINT32_MAX;
    for (RowId i = 0; i < host_.size(); ++i) {
      if (host_.kind[i] != trace::SliceKind::kOp) continue;
      const bool node = again_.NodeOf(i) == i;
      if (!node && model_.lineage().top_op[i] != i) continue;
      const std::size_t at = node && model_.InWindow(i) ? AttentionOf(i) : kNowhere;
      const bool follows = thread == host_.thread[i] && before == at;
      thread = host_.thread[i];
      before = at;
      if (at == kNowhere) continue;
      std::vector<Attention::Stretch>& stretches = found_[at].backward_host;
      if (!follows) {
        stretches.push_back({model_.LaneOf(i), {host_.start_ns[i], host_.end_ns(i)}, 0});
      }
      Nanos products = ProductsNs(model_, i, host_.end_ns(i));
      for (const Recompute::Region& region : again_.RegionsIn(i)) {
        products -= ProductsNs(model_, region.first, host_.end_ns(region.last));
        stretches.back().span.end_ns = region.span.begin_ns;
        stretches.push_back({model_.LaneOf(i), {region.span.end_ns, host_.end_ns(i)}, 0});
      }
      stretches.back().span.end_ns = host_.end_ns(i);
      stretches.back().products_ns += products;
    }
  }

  // Sequence numbers of forward operators, each with the attention it belongs to.
  using Sequences = std::unordered_map<std::int64_t, std::size_t>;

  const Model& model_;
  const trace::HostSlices& host_;
  const Recompute again_;
  std::vector<Attention> found_;
  std::unordered_map<RowId, Sequences> sequences_;  // by the outermost node around them; kNoRow
};

}  // namespace

std::vector<Attention> FindAttention(const Model& model) { return Finder(model).Find(); }

}  // namespace hone::replay
