// SPDX-License-Identifier: Apache-2.0
#include "replay/edits/attention.h"

#include <algorithm>
#include <unordered_map>

#include "analyze/autograd_engine.h"
#include "replay/edits/attention_calls.h"

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

// Index of the batched matmul before or after the softmax at `at`; SIZE_MAX: none.
std::size_t FindProduct(const std::vector<AttentionCall>& list, std::size_t at, int step) {
  for (std::size_t n = 1; n <= kMostBetween + 1; ++n) {
    if (step < 0 && at < n) break;
    const std::size_t i = step < 0 ? at - n : at + n;
    if (i >= list.size()) break;
    if (list[i].role == AttentionRole::kBatched) return i;
    if (list[i].role != AttentionRole::kBetween) break;
  }
  return SIZE_MAX;
}

bool IsHalf(const Model& model, const AttentionCall& product) {
  for (const TaskId task : product.work) {
    const analyze::KernelTraits& traits = model.Traits(model.graph().tasks[task].row);
    if (traits.precision == Precision::kBf16 || traits.precision == Precision::kFp16) return true;
  }
  return false;
}

// Sequence numbers of the forward operators, each with the attention it belongs to.
using Sequences = std::unordered_map<std::int64_t, std::size_t>;

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

// Adds the operators from the first product to the second, with all that their calls do. What lies
// around both (a checkpointed layer) has other things in it.
void AddForward(const Model& model, RowId first, RowId last, std::size_t index,
                Attention& attention, Sequences& sequences) {
  const trace::HostSlices& host = model.trace().host;
  const RowId first_top = model.lineage().top_op[first], last_top = model.lineage().top_op[last];
  const bool apart = first_top != last_top;
  const RowId begin = apart ? first_top : first;
  const Nanos end = host.end_ns(apart ? last_top : last);
  for (RowId i = begin; i < host.size() && host.thread[i] == host.thread[first]; ++i) {
    if (host.start_ns[i] >= end) break;
    if (host.kind[i] == trace::SliceKind::kOp && host.link[i] >= 0) {
      sequences.emplace(host.link[i], index);
    }
  }
  if (model.LaneOf(first) == UINT16_MAX) return;
  attention.forward_host.push_back(
      {model.LaneOf(first), {host.start_ns[begin], end}, ProductsNs(model, begin, end)});
}

bool IsBackward(const Model& model, RowId top) {
  return analyze::IsEngineSlice(model.trace().HostName(top));
}

// The engine's own slice carries the number, or the gradient's function inside it.
std::int64_t SequenceOf(const Model& model, RowId top) {
  const trace::HostSlices& host = model.trace().host;
  if (host.link[top] >= 0 || top + 1 >= host.size() || host.parent[top + 1] != top) {
    return host.link[top];
  }
  return host.kind[top + 1] == trace::SliceKind::kOp ? host.link[top + 1] : -1;
}

// Host time of the backward nodes; neighbours are one stretch, with the engine's time between them.
void AddBackwardHost(const Model& model, const Sequences& sequences,
                     std::vector<Attention>& found) {
  const trace::HostSlices& host = model.trace().host;
  std::size_t before = SIZE_MAX;  // attention of the node before, on the same thread
  std::uint32_t thread = UINT32_MAX;
  for (RowId i = 0; i < host.size(); ++i) {
    if (host.kind[i] != trace::SliceKind::kOp || model.lineage().top_op[i] != i) continue;
    const auto at = IsBackward(model, i) ? sequences.find(SequenceOf(model, i)) : sequences.end();
    const bool follows = thread == host.thread[i];
    thread = host.thread[i];
    if (at == sequences.end() || !model.InWindow(i)) {
      before = SIZE_MAX;
      continue;
    }
    std::vector<Attention::Stretch>& stretches = found[at->second].backward_host;
    const Nanos products = ProductsNs(model, i, host.end_ns(i));
    if (follows && before == at->second) {
      stretches.back().span.end_ns = host.end_ns(i);
      stretches.back().products_ns += products;
    } else {
      stretches.push_back({model.LaneOf(i), {host.start_ns[i], host.end_ns(i)}, products});
    }
    before = at->second;
  }
}

}  // namespace

std::vector<Attention> FindAttention(const Model& model) {
  const bool on_host = model.trace().device.size() == 0;
  const std::vector<std::vector<AttentionCall>> by_thread =
      on_host ? CallsOnHost(model) : LaunchingCalls(model);
  std::vector<Attention> found;
  Sequences sequences;
  for (const std::vector<AttentionCall>& list : by_thread) {
    std::size_t used = 0;  // products belong to one attention only
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (list[i].role != AttentionRole::kSoftmax ||
          IsBackward(model, model.lineage().top_op[list[i].op])) {
        continue;
      }
      const std::size_t first = FindProduct(list, i, -1), last = FindProduct(list, i, +1);
      if (first == SIZE_MAX || last == SIZE_MAX || first < used) continue;
      used = last + 1;
      Attention attention;
      attention.softmax = list[i].op;
      attention.half = IsHalf(model, list[last]);
      attention.on_host = on_host;
      for (std::size_t k = first; k < i; ++k) {
        attention.masked = attention.masked || WritesOver(model.trace().HostName(list[k].op));
      }
      for (std::size_t k = first; k <= last; ++k) {
        attention.dropout = attention.dropout || DropsOut(model.trace().HostName(list[k].op));
        attention.forward.insert(attention.forward.end(), list[k].work.begin(), list[k].work.end());
      }
      AddForward(model, list[first].op, list[last].op, found.size(), attention, sequences);
      found.push_back(std::move(attention));
    }
  }
  if (found.empty()) return found;
  for (const std::vector<AttentionCall>& list : by_thread) {
    for (const AttentionCall& call : list) {
      const RowId top = model.lineage().top_op[call.op];
      if (!IsBackward(model, top)) continue;
      const auto at = sequences.find(SequenceOf(model, top));
      if (at == sequences.end()) continue;
      std::vector<TaskId>& backward = found[at->second].backward;
      backward.insert(backward.end(), call.work.begin(), call.work.end());
    }
  }
  AddBackwardHost(model, sequences, found);
  for (Attention& attention : found) {
    std::sort(attention.forward.begin(), attention.forward.end());
    std::sort(attention.backward.begin(), attention.backward.end());
  }
  return found;
}

}  // namespace hone::replay
