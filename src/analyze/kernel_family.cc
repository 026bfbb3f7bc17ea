// SPDX-License-Identifier: Apache-2.0
// Longer than most files because the rules stand in one place, in the order in which they are
// tried.
#include "analyze/kernel_family.h"

#include <algorithm>
#include <array>
#include <bitset>
#include <string>
#include <vector>

#include "analyze/kernel_precision.h"
#include "analyze/work_class.h"
#include "base/lower_case.h"

namespace hone::analyze {
namespace {

using enum KernelFamily;

// Tokens are lower case, joined by '&' (all must occur) and '|' (one of them must); a leading '^'
// anchors at the start of the name. The first rule that matches decides, so special names stand
// before general words.
struct FamilyRule {
  std::string_view tokens;
  KernelFamily family;
  bool multiplies;  // does the multiply-adds of a matrix product itself
};

constexpr auto kFamilyRules = std::to_array<FamilyRule>({
    // What the compiler generated keeps its own family unless the name says it is a product.
    {"^triton_tem_&attention|^triton_flex_attention", kAttention, true},
    {"^triton_&conv2d|^triton_convolution", kConvolution, true},
    {"^triton_tem_fused&mm|^triton_mm|^triton_bmm|^triton_addmm", kMatmul, true},
    {"^triton_tem_", kTriton, true},
    {"^triton_", kTriton, false},

    // Helpers around matrix kernels: they carry the words of what they help.
    {"splitkreduce|reducesplitk|splitk_reduce|reduce_wgrad|postgsu|wgrad2d_c1_k1_nhwc_reduce",
     kReduction, false},
    {"computeoffsets|computeboffsets|computewgrad|init_device_workspace|prepare_grouped_gemm_data",
     kOther, false},
    {"nchwtonhwc|nhwctonchw|nchw_to_nhwc|nhwc_to_nchw|addpadding|converttensor_kernel|flip_filter|"
     "im2col|col2im|cublastranspose|batched_transpose",
     kCopyCast, false},
    {"scalepackedtensor|scaletensor|epilogue::impl::globalkernel|scal_kernel|op_tensor",
     kElementwise, false},
    {"dot_kernel&cublasdot|reduce_1block_kernel", kReduction, false},
    {"dot_do_o|graddoto|convert_dq|convertqgrad|convert_dkv|splitkv_combine|fmhareduction|"
     "flashattnfwdcombine|flashattnbwdpreprocess|flashattnbwdpostprocess",
     kAttention, false},
    {"unpack_cudnn", kRandom, false},

    // Optimizers, and the other uses of Apex's and PyTorch's list kernels.
    {"split_embedding", kEmbedding, false},
    {"multi_tensor_apply&adam|multi_tensor_apply&sgd|multi_tensor_apply&lambstage|"
     "multi_tensor_apply&lambfunctor|multi_tensor_apply&adagrad|multi_tensor_apply&novograd|"
     "multi_tensor_apply&rmsprop|multi_tensor_apply&lionfunctor|multi_tensor_apply&distopt",
     kOptimizer, false},
    {"fused_adam|adamw_kernel|adam_kernel|adam_cuda_kernel|kadam|koptimizer", kOptimizer, false},
    {"multi_tensor_apply&norm|lpnorm|maxnorm", kReduction, false},
    {"multi_tensor_apply", kElementwise, false},

    // Attention before dropout, softmax and matmul, whose words its names may contain.
    {"fmha|flash_fwd|flash_bwd|flash_attn|flashattn|flash::|flashmla|flash_mla|sdpa|"
     "pagedattention|paged_attention|unified_attention|attentionkernel|attention_kernel|_attn_fwd|"
     "_attn_bwd|attn_fwd|attn_bwd|batchprefillwith|batchdecodewith|singleprefillwith|"
     "singledecodewith|flex_attention|^pa_fwd|^pa_decode|aiter&pa_bf16|aiter&pa_fp16|mla_decode|"
     "mla_prefill|mla_a8w8|mla_a16w16|block_sparse_attn|_fwd_grouped_kernel|attention_fwd|"
     "attention_bwd|sageattn|xmma_fmha",
     kAttention, true},

    // PyTorch native kernels: the functor inside the template tells what the loop is for.
    {"rotary", kElementwise, false},
    {"scatter_gather|index_elementwise|vectorized_gather|indexselect|indexfunc|index_put|"
     "indexing_backward|embedding|compute_grad_weight|sum_and_scatter|partial_segment|"
     "partials_per_segment|permute_pooled|gathertopk&embed|bounds_check_indices",
     kEmbedding, false},
    {"catarray|_copy_kernel|copy_kernel_cuda|conjugate_copy|rocclr_copybuffer|copy_device_to_"
     "device|"
     "triu_tril|roll_cuda|constant_pad|flip_kernel",
     kCopyCast, false},
    {"dropout|distribution_|philox|curand|randperm|multinomial|bernoulli|exponential_kernel|"
     "sampletokens|gumbel",
     kRandom, false},
    {"elementwise&mse_|elementwise&huber|elementwise&smooth_l1|elementwise&binary_cross_entropy|"
     "elementwise&kl_div|nll_loss|cross_entropy|crossentropy|softmaxcrossentropy|ctc_loss|"
     "elementwise&l1_loss",
     kLoss, false},
    {"elementwise&batch_norm|elementwise&groupnorm|elementwise&group_norm|elementwise&layer_norm",
     kNorm, false},
    {"elementwise|elemwise", kElementwise, false},

    {"softmax", kSoftmax, false},
    {"layer_norm|layernorm|batch_norm|batchnorm|group_norm|groupnorm|rms_norm|rmsnorm|instance_"
     "norm|"
     "instancenorm|bn_fw|bn_bw|gammabeta|rowwisemoments|computefusedparams|"
     "computebackwardfusedparams|computeinternalgradients|cuapplylayernorm|cucomputegradinput|"
     "ln_fwd|ln_bwd|ln_parallel|norm_fwd_kernel|norm_bwd_kernel|rmsnorm2d|layernorm2d",
     kNorm, false},
    {"max_pool|maxpool|avg_pool|avgpool|average_pool|adaptive_average|pooling", kPooling, false},
    {"_loss|loss_", kLoss, false},
    {"radixsort|radix_sort|bitonic|topk|devicescan|scan_innermost|scan_outer|scan::|cumsum|"
     "devicecompact|deviceselect|uniquebykey|reducebykey|segmentedsort|searchsorted|histogram|"
     "mergesort|merge_sort|_sort|sort_|write_indices|asynchronous_complete|moe_align|argsort",
     kSortScan, false},
    {"reduce_kernel|devicereduce|devicesegmentedreduce|lastblock_reduce|column_reduce|reduce_sum",
     kReduction, false},

    {"fprop|dgrad|wgrad|implicit_gemm|implicitgemm|implicit_convolve|convolve|conv1d|conv2d|conv3d|"
     "conv_depthwise|depthwise|scudnn|hcudnn|1688cudnn|16816cudnn|884cudnn|winograd|fft2d|"
     "cudnn::cnn::|igemm_fwd|igemm_bwd|igemm_wrw|grouped_conv|naive_conv|sp3asmconv|miopenconv|"
     "gridwise_convolution|convnd|_conv_",
     kConvolution, true},
    {"rnn_blockpersist|persistrnn_fp|persistrnn_bp", kMatmul, true},
    {"nvjet|gemm|gemv|cijk_|matmul|^bmm_|_bmm_|_mm_kernel|scaled_mm|fused_moe_kernel|fmoe|"
     "moe_kernel|collectivemma|cutlass::kernel|cutlass::kernel2|cutlass3x|marlin|wgmma|tcgen05|"
     "_dot_kernel|grouped_mm|mul_mat",
     kMatmul, true},

    {"quant|cast_kernel|_cast|transpose|permute|copy|concat|reshape_and_cache|kv_buffer|"
     "fillbuffer|memset|memcpy|repeat_interleave",
     kCopyCast, false},
    {"rope|act_and_mul|silu|gelu|swiglu|activation|sigmoid|_add_kernel|_mul_kernel|"
     "fill_kernel|upsample|grid_sampler|interpolate|bias_add|addbias",
     kElementwise, false},
    {"gather|scatter|index_", kEmbedding, false},
    {"reduce", kReduction, false},
});

struct MatrixRule {
  std::string_view tokens;
  MatrixUnit unit;
};

// Asked only of kernels that multiply. Instruction names first: they are proof either way.
constexpr auto kMatrixRules = std::to_array<MatrixRule>({
    {"ffma|simt|_fma<", MatrixUnit::kNo},
    {"nvjet|wgmma|gmma|umma|tcgen05|hmma|imma|mfma|wmma|tensorop|xdl|gtcx|gtcn", MatrixUnit::kYes},
    {"s884|h884|d884|c884|i8816|i8832|1688|16816|16832|161616|16864|mma_64x|mma_16x8|m64n",
     MatrixUnit::kYes},
    // Depthwise and direct engines, and products of a matrix with a vector, have no tile to feed.
    {"depthwise|gemv|gemmk1|gemmsn|gemm_sn|implicit_convolve|convolve_common|convolve_sgemm|"
     "convolvend|alg0_engine|alg1_engine|dgrad_engine|wgrad_engine|dgrad2d_alg1|conv2d_c1_k1|"
     "dgrad2d_c1_k1|wgrad2d_c1_k1|wgrad2d_shmem|2d_grouped_direct|fft2d|causal_conv1d|"
     "naive_conv|gridwise_gemm_dl|_dl_kernel",
     MatrixUnit::kNo},
    {"sgemm|dgemm|cgemm|zgemm|scudnn|hcudnn|volta_hgemm|maxwell_|kepler_|pascal_", MatrixUnit::kNo},
    {"xmma&f32f32_f32f32", MatrixUnit::kNo},
    {"xmma", MatrixUnit::kYes},
    // PyTorch's memory-efficient attention: fp32 runs as three tf32 products from sm80 on, and on
    // plain cores before; 16-bit formats use the matrix units from sm70 on.
    {"fmha_cutlass&f32&sm80", MatrixUnit::kYes},
    {"fmha_cutlass&f32|fmha_cutlass&sm50", MatrixUnit::kNo},
    {"fmha|flash_fwd|flash_bwd|flashattn|flash::|pytorch_flash|sdpa|batchprefill|singleprefill|"
     "flashmla|flash_mla|sageattn",
     MatrixUnit::kYes},
    // One query row at a time: written for plain cores in vLLM and FlashInfer.
    {"paged_attention_v1|paged_attention_v2|batchdecode|singledecode", MatrixUnit::kNo},
    {"cutlass3x|^bmm_|fp8_gemm|fp8gemm|deep_gemm|deepgemm|f4gemm|_zn5aiter&gemm|aiter::&gemm|"
     "marlin|fmoe|mainloopsm90|mainloopsm1",
     MatrixUnit::kYes},
    {"winograd&transform|winogradforward|winogradwgrad|generatewinograd", MatrixUnit::kNo},
    {"rnn_blockpersist&float", MatrixUnit::kNo},
});

// Tokens split once: alternatives, and in each the tokens that must all occur.
using Pattern = std::vector<std::vector<std::string_view>>;

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

template <typename Rules>
std::vector<Pattern> SplitRules(const Rules& rules) {
  std::vector<Pattern> patterns;
  for (const auto& rule : rules) {
    Pattern& pattern = patterns.emplace_back();
    for (const std::string_view all : Split(rule.tokens, '|')) pattern.push_back(Split(all, '&'));
  }
  return patterns;
}

// A name with the set of its letter pairs. Most tokens are ruled out by one missing pair, which
// makes the three hundred tokens of the tables cost microseconds instead of tens of them.
class IndexedName {
 public:
  explicit IndexedName(std::string_view name) : name_(name) {
    for (std::size_t i = 1; i < name.size(); ++i) pairs_.set(Pair(name[i - 1], name[i]));
  }

  bool Has(std::string_view token) const {
    if (token.starts_with('^')) return name_.starts_with(token.substr(1));
    for (std::size_t i = 1; i < token.size(); ++i) {
      if (!pairs_.test(Pair(token[i - 1], token[i]))) return false;
    }
    return name_.find(token) != std::string_view::npos;
  }

  bool Matches(const Pattern& pattern) const {
    return std::ranges::any_of(pattern, [&](const auto& tokens) {
      return std::ranges::all_of(tokens, [&](std::string_view token) { return Has(token); });
    });
  }

 private:
  static std::size_t Pair(char a, char b) {
    return (static_cast<std::size_t>(a) & 63) << 6 | (static_cast<std::size_t>(b) & 63);
  }

  std::string_view name_;
  std::bitset<4096> pairs_;  // 64 · 64: six bits of each letter
};

// Index of the first rule whose pattern matches; the number of rules when none does.
std::size_t FirstMatch(const IndexedName& name, const std::vector<Pattern>& patterns) {
  std::size_t i = 0;
  while (i < patterns.size() && !name.Matches(patterns[i])) ++i;
  return i;
}

MatrixUnit MatrixUnitOf(const IndexedName& name) {
  // Tensile writes the matrix instruction as MI16x16…; a name without one multiplies on plain
  // cores.
  if (name.Has("cijk_")) {
    const bool instruction =
        name.Has("_mi16") || name.Has("_mi32") || name.Has("_mi4x") || name.Has("_miwt");
    return instruction ? MatrixUnit::kYes : MatrixUnit::kNo;
  }
  static const std::vector<Pattern> kPatterns = SplitRules(kMatrixRules);
  const std::size_t match = FirstMatch(name, kPatterns);
  return match < kPatterns.size() ? kMatrixRules[match].unit : MatrixUnit::kUnknown;
}

// OpaqueType<N>: PyTorch moves elements of N bytes without caring what they mean.
int OpaqueBytes(std::string_view name) {
  constexpr std::string_view kOpaque = "opaquetype<";
  const std::size_t at = name.find(kOpaque);
  if (at == std::string_view::npos) return 0;
  std::string_view rest = name.substr(at + kOpaque.size());
  if (rest.starts_with("(unsigned int)")) rest.remove_prefix(14);
  if (rest.starts_with("(int)")) rest.remove_prefix(5);
  if (rest.starts_with("16")) return 16;
  return !rest.empty() && rest.front() >= '1' && rest.front() <= '8' ? rest.front() - '0' : 0;
}

}  // namespace

KernelTraits ClassifyKernel(std::string_view name) {
  KernelTraits traits;
  if (IsCommunicationName(name)) {
    traits.family = kCommunication;
    traits.matrix_unit = MatrixUnit::kNotApplicable;
    return traits;
  }
  // What tells stands at the front; CUTLASS names run to kilobytes, hostile ones to megabytes.
  constexpr std::size_t kLongest = 4096;
  std::string lower = LowerCase(name.substr(0, kLongest));
  if (lower.starts_with("void ")) lower.erase(0, 5);
  // A namespace of tensor shuffles whose name would read as a matrix product.
  for (std::size_t at; (at = lower.find("fbgemm_gpu::")) != std::string::npos;) lower.erase(at, 12);
  const IndexedName indexed(lower);

  static const std::vector<Pattern> kPatterns = SplitRules(kFamilyRules);
  const std::size_t match = FirstMatch(indexed, kPatterns);
  if (match == kPatterns.size()) return traits;  // an unknown kernel may well multiply
  const FamilyRule& rule = kFamilyRules[match];
  traits.family = rule.family;
  traits.precision = PrecisionOfName(lower);
  traits.element_bytes = ElementBytes(traits.precision);
  if (const int opaque = OpaqueBytes(lower); opaque > 0) {
    traits.precision = Precision::kUnknown;
    traits.element_bytes = opaque;
  }
  traits.matrix_unit = rule.multiplies ? MatrixUnitOf(indexed) : MatrixUnit::kNotApplicable;
  if (indexed.Has("sdpa") && indexed.Has("_f16_")) traits.element_bytes = 2;
  // fp32 tensors on matrix units are multiplied as tf32, except on AMD, which has fp32 units.
  if (traits.precision == Precision::kFp32 && traits.matrix_unit == MatrixUnit::kYes &&
      !indexed.Has("cijk_") && !indexed.Has("igemm_") && !indexed.Has("xdl") &&
      !indexed.Has("mfma")) {
    traits.precision = Precision::kTf32;
  }
  return traits;
}

const char* FamilyName(KernelFamily family) {
  switch (family) {
    case kMatmul: return "matmul";
    case kConvolution: return "convolution";
    case kAttention: return "attention";
    case kNorm: return "norm";
    case kSoftmax: return "softmax";
    case kElementwise: return "elementwise";
    case kReduction: return "reduction";
    case kEmbedding: return "embedding and indexing";
    case kOptimizer: return "optimizer";
    case kCopyCast: return "copy and cast";
    case kPooling: return "pooling";
    case kLoss: return "loss";
    case kSortScan: return "sort and scan";
    case kRandom: return "random";
    case kTriton: return "triton";
    case kCommunication: return "communication";
    case kOther: return "other";
  }
  return "other";
}

const char* PrecisionName(Precision precision) {
  switch (precision) {
    case Precision::kUnknown: return "unknown";
    case Precision::kFp64: return "fp64";
    case Precision::kFp32: return "fp32";
    case Precision::kTf32: return "tf32";
    case Precision::kFp16: return "fp16";
    case Precision::kBf16: return "bf16";
    case Precision::kFp8: return "fp8";
    case Precision::kFp4: return "fp4";
    case Precision::kInt8: return "int8";
    case Precision::kInt: return "int";
    case Precision::kMixed: return "mixed";
  }
  return "unknown";
}

const char* MatrixUnitName(MatrixUnit unit) {
  switch (unit) {
    case MatrixUnit::kUnknown: return "unknown";
    case MatrixUnit::kYes: return "yes";
    case MatrixUnit::kNo: return "no";
    case MatrixUnit::kNotApplicable: return "not applicable";
  }
  return "unknown";
}

}  // namespace hone::analyze
