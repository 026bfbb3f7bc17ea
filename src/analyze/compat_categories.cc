// SPDX-License-Identifier: Apache-2.0
// TraceLens's operator categories, as far as a name tells them. Operators of vendor libraries that
// TraceLens gives a category of their own and that are not listed here read "other".
#include <algorithm>
#include <iterator>

#include "analyze/compat_rules.h"

namespace hone::analyze {
namespace {

struct Entry {
  std::string_view op;
  const char* category;
};

constexpr Entry kOps[] = {
    {"aten::mm", "GEMM"},
    {"aten::addmm", "GEMM"},
    {"aten::bmm", "GEMM"},
    {"aten::baddbmm", "GEMM"},
    {"aten::_scaled_mm", "GEMM"},
    {"trtllm::cublas_scaled_mm", "GEMM"},
    {"bitsandbytes::int8_linear_matmul", "GEMM"},
    {"tex_ts::te_gemm_ts", "GEMM"},
    {"vllm::gemm_with_dynamic_quant", "GEMM"},
    {"aten::convolution", "CONV_fwd"},
    {"aten::cudnn_convolution", "CONV_fwd"},
    {"aten::miopen_convolution", "CONV_fwd"},
    {"ConvBias_", "CONV_fwd"},
    {"ConvBiasReLU_", "CONV_fwd"},
    {"aten::convolution_backward", "CONV_bwd"},
    {"ConvBias_Backward", "CONV_bwd"},
    {"ConvBiasReLU_Backward", "CONV_bwd"},
    {"FlashAttnFunc", "SDPA_fwd"},
    {"FlashAttnFuncBackward", "SDPA_bwd"},
    {"FusedAttnFuncBackward", "SDPA_bwd"},
    {"flash_attn::_flash_attn_forward", "SDPA_fwd"},
    {"flash_attn::_flash_attn_backward", "SDPA_bwd"},
    {"flash_attn::_flash_attn_varlen_forward", "SDPA_fwd"},
    {"flash_attn::_flash_attn_varlen_backward", "SDPA_bwd"},
    {"flash_attn_3::fwd", "SDPA_fwd"},
    {"aten::_scaled_dot_product_cudnn_attention", "SDPA_fwd"},
    {"aten::_scaled_dot_product_efficient_attention", "SDPA_fwd"},
    {"aten::_scaled_dot_product_flash_attention", "SDPA_fwd"},
    {"aten::_scaled_dot_product_cudnn_attention_backward", "SDPA_bwd"},
    {"aten::_scaled_dot_product_efficient_attention_backward", "SDPA_bwd"},
    {"aten::_scaled_dot_product_flash_attention_backward", "SDPA_bwd"},
    {"aten::_efficient_attention_forward", "SDPA_fwd"},
    {"aten::_efficient_attention_backward", "SDPA_bwd"},
    {"aten::_fused_rms_norm", "NORM_fwd"},
    {"aten::_fused_rms_norm_backward", "NORM_bwd"},
    {"aten::copy", "elementwise"},
    {"aten::copy_", "elementwise"},
    {"aten::clamp_min", "elementwise"},
    {"aten::clamp_min_", "elementwise"},
    {"aten::clamp_max", "elementwise"},
    {"aten::clamp_max_", "elementwise"},
    {"aten::sigmoid", "elementwise"},
    {"aten::rsqrt", "elementwise"},
    {"aten::silu", "elementwise"},
    {"aten::neg", "elementwise"},
    {"aten::pow", "elementwise"},
    {"aten::div", "elementwise"},
    {"aten::div_", "elementwise"},
    {"aten::mul", "elementwise"},
    {"aten::mul_", "elementwise"},
    {"aten::add", "elementwise"},
    {"aten::add_", "elementwise"},
    {"aten::sigmoid_backward", "elementwise"},
    {"aten::threshold_backward", "elementwise"},
    {"aten::sum", "reduce"},
    {"aten::mean", "reduce"},
    {"aten::max", "reduce"},
    {"aten::min", "reduce"},
    {"aten::norm", "reduce"},
    {"aten::linalg_norm", "reduce"},
    {"aten::std", "reduce"},
    {"aten::var", "reduce"},
    {"aten::logsumexp", "reduce"},
    {"aten::cumsum", "reduce"},
    {"aten::cumprod", "reduce"},
    {"aten::amin", "reduce"},
    {"aten::amax", "reduce"},
    {"FusedRoPEFunc", "RoPE_fwd"},
    {"FusedRoPEFuncBackward", "RoPE_bwd"},
    {"CrossEntropyFunction", "CrossEntropy_fwd"},
    {"CrossEntropyFunctionBackward", "CrossEntropy_bwd"},
};

// aten::[native_|cudnn_|miopen_]{batch,layer,group,instance}_norm[_backward], and
// rms_norm_backward.
const char* NormCategory(std::string_view op) {
  if (!op.starts_with("aten::")) return nullptr;
  op.remove_prefix(6);
  for (const std::string_view variant : {"native_", "cudnn_", "miopen_"}) {
    if (!op.starts_with(variant)) continue;
    op.remove_prefix(variant.size());
    break;
  }
  const bool backward = op.ends_with("_backward");
  if (backward) op.remove_suffix(9);
  const bool is_norm = op == "batch_norm" || op == "layer_norm" || op == "group_norm" ||
                       op == "instance_norm" || (backward && op == "rms_norm");
  return !is_norm ? nullptr : backward ? "NORM_bwd" : "NORM_fwd";
}

}  // namespace

const char* TraceLensOpCategory(std::string_view op) {
  const auto* known = std::find_if(std::begin(kOps), std::end(kOps),
                                   [&](const Entry& entry) { return entry.op == op; });
  if (known != std::end(kOps)) return known->category;
  if (const char* norm = NormCategory(op)) return norm;
  if (op.starts_with("triton")) return "triton";
  if (op.starts_with("record_param_comms")) return "record_param_comms";
  return nullptr;
}

const char* TraceLensWorkCategory(std::string_view first_work) {
  if (first_work.starts_with("void at::native")) {
    for (const char* kind : {"elementwise", "reduce", "multi_tensor_apply"}) {
      if (first_work.find(kind) != std::string_view::npos) return kind;
    }
  }
  return "other";
}

}  // namespace hone::analyze
