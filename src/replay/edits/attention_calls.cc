// SPDX-License-Identifier: Apache-2.0
#include "replay/edits/attention_calls.h"

#include <algorithm>
#include <array>

#include "analyze/autograd_engine.h"

namespace hone::replay {
namespace {

using trace::kNoRow;
using trace::RowId;

AttentionRole RoleOf(std::string_view op) {
  if (IsProduct(op)) return AttentionRole::kBatched;
  if (op == "aten::_softmax" || op == "aten::softmax" || op == "aten::_safe_softmax") {
    return AttentionRole::kSoftmax;
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
                                      "aten::ones",
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
    if (op.starts_with(word)) return AttentionRole::kBetween;
  }
  if (op == "aten::linear" || op == "aten::mm" || op == "aten::addmm") return AttentionRole::kLayer;
  return AttentionRole::kOther;
}

// Operators that compute nothing, and those around others that do: what is inside decides.
bool OnlyWraps(std::string_view op) {
  constexpr std::array<std::string_view, 27> kWrapping = {
      "aten::matmul",          "aten::einsum",       "aten::softmax",
      "aten::special_softmax", "aten::dropout",      "aten::view",
      "aten::_unsafe_view",    "aten::reshape",      "aten::_reshape_alias",
      "aten::as_strided",      "aten::transpose",    "aten::permute",
      "aten::movedim",         "aten::swapaxes",     "aten::t",
      "aten::unsqueeze",       "aten::squeeze",      "aten::flatten",
      "aten::unflatten",       "aten::select",       "aten::narrow",
      "aten::contiguous",      "aten::alias",        "aten::detach",
      "aten::result_type",     "aten::resolve_conj", "aten::resolve_neg"};
  return std::find(kWrapping.begin(), kWrapping.end(), op) != kWrapping.end() ||
         op.starts_with("aten::empty");
}

// scaled_dot_product_attention itself, whatever it falls back to inside, and the layers of PyTorch
// that are one operator in evaluation.
bool IsFused(std::string_view op) {
  return op.find("scaled_dot_product") != std::string_view::npos ||
         op == "aten::_native_multi_head_attention" ||
         op == "aten::_transformer_encoder_layer_fwd" || op == "aten::_triton_multi_head_attention";
}

}  // namespace

std::vector<std::vector<AttentionCall>> LaunchingCalls(const Model& model) {
  const trace::Trace& trace = model.trace();
  std::vector<std::uint8_t> roles(trace.strings.size(), UINT8_MAX);
  std::vector<std::vector<AttentionCall>> by_thread(trace.threads.size());
  for (RowId call = 0; call < trace.host.size(); ++call) {
    if (trace.host.kind[call] != trace::SliceKind::kApi) continue;
    const RowId work = model.WorkOf(call);
    if (work == kNoRow || model.graph().of_device[work] == kNoTask) continue;
    const RowId op = model.lineage().op[call];
    if (op == kNoRow) continue;
    std::vector<AttentionCall>& list = by_thread[trace.host.thread[call]];
    if (list.empty() || list.back().op != op) {
      std::uint8_t& role = roles[static_cast<std::uint32_t>(trace.host.name[op])];
      if (role == UINT8_MAX) role = static_cast<std::uint8_t>(RoleOf(trace.HostName(op)));
      list.push_back({op, static_cast<AttentionRole>(role), {}});
    }
    list.back().work.push_back(model.graph().of_device[work]);
  }
  return by_thread;
}

std::vector<std::vector<AttentionCall>> CallsOnHost(const Model& model, const Recompute& again) {
  enum : std::uint8_t { kUnseen, kWraps, kNode, kWhole, kRole };  // kRole + AttentionRole
  const trace::Trace& trace = model.trace();
  std::vector<std::uint8_t> names(trace.strings.size(), kUnseen);
  const auto judge = [](std::string_view op) -> std::uint8_t {
    if (OnlyWraps(op)) return kWraps;
    if (analyze::IsEngineSlice(op)) return kNode;
    if (IsFused(op)) return kWhole;
    return kRole + static_cast<std::uint8_t>(RoleOf(op));
  };
  std::vector<std::vector<AttentionCall>> by_thread(trace.threads.size());
  std::vector<Nanos> inside(trace.threads.size(), -1);  // of a call whose parts do not count
  for (RowId i = 0; i < trace.host.size(); ++i) {
    if (trace.host.kind[i] != trace::SliceKind::kOp || !model.InWindow(i)) continue;
    const std::uint32_t thread = trace.host.thread[i];
    if (trace.host.start_ns[i] < inside[thread]) continue;
    std::uint8_t& name = names[static_cast<std::uint32_t>(trace.host.name[i])];
    if (name == kUnseen) name = judge(trace.HostName(i));
    if (name == kWraps) continue;
    const bool in_node = again.NodeOf(i) != kNoRow && name != kNode;
    if (in_node && again.RegionOf(i) == Recompute::kNone) continue;
    const auto role =
        name < kRole ? AttentionRole::kOther : static_cast<AttentionRole>(name - kRole);
    by_thread[thread].push_back({i, role, {}});
    // Another operator (a checkpoint, a function of the program's own) may hold attention.
    if (name == kWhole || role != AttentionRole::kOther) inside[thread] = trace.host.end_ns(i);
  }
  return by_thread;
}

bool IsBatchedProduct(std::string_view op) { return op == "aten::bmm" || op == "aten::baddbmm"; }

bool IsProduct(std::string_view op) {
  return IsBatchedProduct(op) || op == "aten::matmul" || op == "aten::einsum";
}

bool DropsOut(std::string_view op) {
  return op.starts_with("aten::native_dropout") || op.starts_with("aten::bernoulli") ||
         op == "aten::_fused_dropout";
}

}  // namespace hone::replay
