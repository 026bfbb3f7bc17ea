// SPDX-License-Identifier: Apache-2.0
// Lists of ATen/autocast_mode.h, by the operators below them that launch the kernels.
#include <algorithm>
#include <initializer_list>

#include "replay/edits/autocast.h"

namespace hone::replay {
namespace {

using Words = std::initializer_list<std::string_view>;

bool IsOneOf(std::string_view op, Words words) {
  return std::find(words.begin(), words.end(), op) != words.end();
}
bool StartsWithOneOf(std::string_view op, Words words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return op.starts_with(word); });
}
bool HasOneOf(std::string_view op, Words words) {
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
    return op.find(word) != std::string_view::npos;
  });
}

bool IsHalf(std::string_view op) {
  return IsOneOf(op, {"mm", "addmm", "bmm", "baddbmm", "addbmm", "mv", "addmv", "addr", "matmul",
                      "linear", "einsum", "prelu", "_addmm_activation", "linalg_vecdot"}) ||
         HasOneOf(op, {"conv", "_attention", "_fused_lstm_cell", "_fused_gru_cell", "_cudnn_rnn"});
}

bool IsFloat(std::string_view op) {
  return IsOneOf(op, {"pow",  "exp",   "exp_",  "expm1", "log",        "log_",
                      "log2", "log10", "log1p", "rsqrt", "reciprocal", "softplus",
                      "sum",  "prod",  "norm",  "dist",  "renorm",     "acos",
                      "asin", "cosh",  "sinh",  "tan",   "erfinv",     "cosine_similarity"}) ||
         StartsWithOneOf(op, {"cumsum", "_cumsum", "cumprod", "_cumprod", "linalg_vector_norm",
                              "linalg_matrix_norm", "logsumexp", "upsample_", "_upsample_",
                              "_cdist", "cdist", "_pdist", "kl_div", "binary_cross_entropy"}) ||
         HasOneOf(op, {"softmax", "layer_norm", "group_norm", "rms_norm", "_loss"});
}

}  // namespace

AutocastRole AutocastRoleOf(std::string_view op) {
  if (op.starts_with("aten::")) op.remove_prefix(6);
  if (op.starts_with("embedding")) return AutocastRole::kFresh;
  if (StartsWithOneOf(op, {"_foreach", "_fused_adam", "_fused_sgd", "_amp_", "fill_", "zero_",
                           "arange", "randperm", "zeros", "ones", "full", "tril", "triu"})) {
    return AutocastRole::kNone;
  }
  if (IsHalf(op)) return AutocastRole::kHalf;
  if (IsFloat(op)) return AutocastRole::kFloat;
  // In-place forms keep the type of the tensor that they change.
  if (IsOneOf(op, {"add", "sub", "mul", "div", "cat", "where", "maximum", "minimum", "addcmul",
                   "addcdiv", "atan2", "lerp"})) {
    return AutocastRole::kPromotes;
  }
  return AutocastRole::kFollows;
}

}  // namespace hone::replay
