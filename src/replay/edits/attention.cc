// SPDX-License-Identifier: Apache-2.0
#include "replay/edits/attention.h"

#include <algorithm>
#include <unordered_map>

#include "analyze/autograd_engine.h"

namespace hone::replay {
namespace {

using analyze::KernelFamily;
using analyze::Precision;
using trace::kNoRow;
using trace::RowId;

// Scale, mask (two or three), cast, dropout, cast: more between softmax and matmul is other code.
constexpr std::size_t kMostBetween = 9;

enum class Role : std::uint8_t { kOther, kBatched, kSoftmax, kBetween };

Role RoleOf(std::string_view op) {
  if (op == "aten::bmm" || op == "aten::baddbmm" || op == "aten::matmul" || op == "aten::einsum") {
    return Role::kBatched;
  }
  if (op == "aten::_softmax" || op == "aten::softmax" || op == "aten::_safe_softmax") {
    return Role::kSoftmax;
  }
  for (const std::string_view word : {"aten::mul",
                                      "aten::div",
                                      "aten::add",
                                      "aten::sub",
                                      "aten::where",
                                      "aten::masked_fill",
                                      "aten::copy_",
                                      "aten::_to_copy",
                                      "aten::to",
                                      "aten::clone",
                                      "aten::native_dropout",
                                      "aten::dropout",
                                      "aten::bernoulli",
                                      "aten::tril",
                                      "aten::triu",
                                      "aten::fill_",
                                      "aten::full",
                                      "aten::neg",
                                      "aten::_log_softmax",
                                      "aten::clamp",
                                      "aten::maximum",
                                      "aten::eq",
                                      "aten::lt",
                                      "aten::le",
                                      "aten::gt",
                                      "aten::ge",
                                      "aten::logical",
                                      "aten::bitwise",
                                      "aten::expand",
                                      "aten::slice"}) {
    if (op.starts_with(word)) return Role::kBetween;
  }
  return Role::kOther;
}

// A mask that hides scores, as a causal one does. What is added may be a bias as well.
bool WritesOver(std::string_view op) {
  return op.starts_with("aten::masked_fill") || op.starts_with("aten::where");
}

struct Launching {  // an operator that launches work, in call order
  RowId op = kNoRow;
  Role role = Role::kOther;
  std::vector<TaskId> work;
};

// By thread, the operators around launches in order.
std::vector<std::vector<Launching>> CollectLaunching(const Model& model) {
  const trace::Trace& trace = model.trace();
  std::vector<std::uint8_t> roles(trace.strings.size(), UINT8_MAX);
  std::vector<std::vector<Launching>> by_thread(trace.threads.size());
  for (RowId call = 0; call < trace.host.size(); ++call) {
    if (trace.host.kind[call] != trace::SliceKind::kApi) continue;
    const RowId work = model.WorkOf(call);
    if (work == kNoRow || model.graph().of_device[work] == kNoTask) continue;
    const RowId op = model.lineage().op[call];
    if (op == kNoRow) continue;
    std::vector<Launching>& list = by_thread[trace.host.thread[call]];
    if (list.empty() || list.back().op != op) {
      std::uint8_t& role = roles[static_cast<std::uint32_t>(trace.host.name[op])];
      if (role == UINT8_MAX) role = static_cast<std::uint8_t>(RoleOf(trace.HostName(op)));
      list.push_back({op, static_cast<Role>(role), {}});
    }
    list.back().work.push_back(model.graph().of_device[work]);
  }
  return by_thread;
}

// Index of the batched matmul before or after the softmax at `at`; SIZE_MAX: none.
std::size_t FindProduct(const std::vector<Launching>& list, std::size_t at, int step) {
  for (std::size_t n = 1; n <= kMostBetween + 1; ++n) {
    if (step < 0 && at < n) break;
    const std::size_t i = step < 0 ? at - n : at + n;
    if (i >= list.size()) break;
    if (list[i].role == Role::kBatched) return i;
    if (list[i].role != Role::kBetween) break;
  }
  return SIZE_MAX;
}

bool IsHalf(const Model& model, const Launching& product) {
  for (const TaskId task : product.work) {
    const analyze::KernelTraits& traits = model.Traits(model.graph().tasks[task].row);
    if (traits.precision == Precision::kBf16 || traits.precision == Precision::kFp16) return true;
  }
  return false;
}

// Sequence numbers of the forward operators, each with the attention it belongs to.
using Sequences = std::unordered_map<std::int64_t, std::size_t>;

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
  attention.forward_host.push_back({model.LaneOf(first), {host.start_ns[begin], end}});
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
    if (follows && before == at->second) {
      stretches.back().span.end_ns = host.end_ns(i);
    } else {
      stretches.push_back({model.LaneOf(i), {host.start_ns[i], host.end_ns(i)}});
    }
    before = at->second;
  }
}

}  // namespace

std::vector<Attention> FindAttention(const Model& model) {
  const std::vector<std::vector<Launching>> by_thread = CollectLaunching(model);
  std::vector<Attention> found;
  Sequences sequences;
  for (const std::vector<Launching>& list : by_thread) {
    std::size_t used = 0;  // products belong to one attention only
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (list[i].role != Role::kSoftmax || IsBackward(model, model.lineage().top_op[list[i].op])) {
        continue;
      }
      const std::size_t first = FindProduct(list, i, -1), last = FindProduct(list, i, +1);
      if (first == SIZE_MAX || last == SIZE_MAX || first < used) continue;
      used = last + 1;
      Attention attention;
      attention.softmax = list[i].op;
      attention.half = IsHalf(model, list[last]);
      for (std::size_t k = first; k < i; ++k) {
        attention.masked = attention.masked || WritesOver(model.trace().HostName(list[k].op));
      }
      for (std::size_t k = first; k <= last; ++k) {
        attention.forward.insert(attention.forward.end(), list[k].work.begin(), list[k].work.end());
      }
      AddForward(model, list[first].op, list[last].op, found.size(), attention, sequences);
      found.push_back(std::move(attention));
    }
  }
  if (found.empty()) return found;
  for (const std::vector<Launching>& list : by_thread) {
    for (const Launching& launching : list) {
      const RowId top = model.lineage().top_op[launching.op];
      if (!IsBackward(model, top)) continue;
      const auto at = sequences.find(SequenceOf(model, top));
      if (at == sequences.end()) continue;
      std::vector<TaskId>& backward = found[at->second].backward;
      backward.insert(backward.end(), launching.work.begin(), launching.work.end());
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
