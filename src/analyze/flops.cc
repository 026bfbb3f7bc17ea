// SPDX-License-Identifier: Apache-2.0
// The table of modelled operators. Longer than most files because it is one table.
#include "analyze/flops.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <unordered_map>

#include "analyze/op_models.h"

namespace hone::analyze {
namespace {

using enum ModelKind;

struct Entry {
  ModelKind kind;
  Model model;
  Schema schema;
};

// Elementwise operators, without the trailing "_" of the in-place forms. Transcendental functions
// count as one operation, as FLOP counters do.
constexpr std::string_view kElementwiseNames[] = {
    "abs",
    "neg",
    "exp",
    "exp2",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "sqrt",
    "rsqrt",
    "square",
    "sin",
    "cos",
    "tan",
    "tanh",
    "sinh",
    "cosh",
    "atan",
    "asin",
    "acos",
    "erf",
    "erfc",
    "sigmoid",
    "log_sigmoid_forward",
    "relu",
    "relu6",
    "gelu",
    "silu",
    "mish",
    "elu",
    "selu",
    "celu",
    "leaky_relu",
    "hardtanh",
    "hardswish",
    "hardsigmoid",
    "softplus",
    "threshold",
    "prelu",
    "reciprocal",
    "floor",
    "ceil",
    "round",
    "trunc",
    "frac",
    "sign",
    "sgn",
    "clamp",
    "clamp_min",
    "clamp_max",
    "clip",
    "pow",
    "nan_to_num",
    "bitwise_not",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "bitwise_left_shift",
    "bitwise_right_shift",
    "add",
    "sub",
    "mul",
    "div",
    "true_divide",
    "floor_divide",
    "rsub",
    "remainder",
    "fmod",
    "maximum",
    "minimum",
    "fmax",
    "fmin",
    "atan2",
    "where",
    "masked_fill",
    "_masked_scale",
    "tril",
    "triu",
    "gelu_backward",
    "silu_backward",
    "sigmoid_backward",
    "tanh_backward",
    "threshold_backward",
    "hardtanh_backward",
    "hardswish_backward",
    "hardsigmoid_backward",
    "leaky_relu_backward",
    "elu_backward",
    "softplus_backward",
    "mish_backward",
    "log_sigmoid_backward",
    "native_dropout_backward",
    "logit",
    "xlogy",
};
constexpr std::string_view kComparisons[] = {
    "eq",    "ne",          "lt",         "le",          "gt",
    "ge",    "logical_and", "logical_or", "logical_xor", "logical_not",
    "isnan", "isinf",       "isfinite",   "isneginf",    "isposinf",
};
constexpr std::string_view kReductions[] = {
    "sum",     "mean",   "prod",     "max",      "min",    "amax",      "amin",
    "aminmax", "argmax", "argmin",   "any",      "all",    "norm",      "linalg_vector_norm",
    "std",     "var",    "var_mean", "std_mean", "nansum", "logsumexp", "count_nonzero",
};
constexpr std::string_view kFills[] = {"fill", "zero"};
constexpr std::string_view kRandomFills[] = {"normal",      "uniform",   "bernoulli",  "random",
                                             "exponential", "geometric", "log_normal", "cauchy"};
constexpr std::string_view kDuplicates[] = {"clone", "contiguous", "_to_copy",
                                            "to",    "roll",       "flip"};

class Table {
 public:
  Table() {
    AddMatmul();
    AddConvolution();
    AddAttention();
    AddRowwise();
    AddElementwise();
    AddCopyAndIndex();
    AddPoolAndLoss();
    AddLists();
  }

  const Entry* Find(std::string_view name) const {
    const auto found = entries_.find(name);
    return found == entries_.end() ? nullptr : &found->second;
  }

 private:
  void AddMatmul();
  void AddConvolution();
  void AddAttention();
  void AddRowwise();
  void AddElementwise();
  void AddCopyAndIndex();
  void AddPoolAndLoss();
  void AddLists();

  void One(std::string_view name, ModelKind kind, Model model, const Schema& schema = {}) {
    entries_.emplace(name, Entry{kind, model, schema});
  }
  template <typename Names>
  void All(const Names& names, ModelKind kind, Model model, const Schema& schema = {}) {
    for (const std::string_view name : names) One(name, kind, model, schema);
  }
  static Schema WorkOf(double flops) { return Schema{.flops_per_element = flops}; }

  std::unordered_map<std::string_view, Entry> entries_;
};

void Table::AddMatmul() {
  One("mm", kProduct, ModelMatmul);
  One("bmm", kProduct, ModelMatmul);
  One("mv", kProduct, ModelMatmul);
  One("dot", kProduct, ModelMatmul);
  One("vdot", kProduct, ModelMatmul);
  One("matmul", kProduct, ModelMatmul);
  One("_int_mm", kProduct, ModelMatmul);
  One("_scaled_mm", kProduct, ModelMatmul, {.flag = 6});
  One("addmm", kProduct, ModelMatmul, {.first = 1});
  One("addmv", kProduct, ModelMatmul, {.first = 1});
  One("baddbmm", kProduct, ModelMatmul, {.first = 1});
  One("_addmm_activation", kProduct, ModelMatmul, {.first = 1});
  One("linear", kProduct, ModelLinear);
  One("_grouped_mm", kProduct, ModelGroupedMatmul);
  One("_scaled_grouped_mm", kProduct, ModelGroupedMatmul);
}

void Table::AddConvolution() {
  const Schema convolution{.flag = 6, .stride = 3, .padding = 4, .dilation = 5};
  const Schema plain_convolution{.stride = 3, .padding = 4, .dilation = 5};
  One("convolution", kProduct, ModelConvolution, convolution);
  One("_convolution", kProduct, ModelConvolution, convolution);
  One("convolution_overrideable", kProduct, ModelConvolution, convolution);
  One("conv1d", kProduct, ModelConvolution, plain_convolution);
  One("conv2d", kProduct, ModelConvolution, plain_convolution);
  One("conv3d", kProduct, ModelConvolution, plain_convolution);
  One("cudnn_convolution_relu", kProduct, ModelConvolution, plain_convolution);
  One("cudnn_convolution", kProduct, ModelConvolution, {.stride = 3, .padding = 2, .dilation = 4});
  One("cudnn_convolution_add_relu", kProduct, ModelConvolution,
      {.stride = 5, .padding = 6, .dilation = 7});
  One("miopen_convolution", kProduct, ModelConvolution, {.stride = 4, .padding = 3, .dilation = 5});
  One("miopen_depthwise_convolution", kProduct, ModelConvolution,
      {.stride = 4, .padding = 3, .dilation = 5});
  One("_conv_depthwise2d", kProduct, ModelConvolution, {.stride = 4, .padding = 5, .dilation = 6});
  One("conv_depthwise3d", kProduct, ModelConvolution, {.stride = 4, .padding = 5, .dilation = 6});
  One("_slow_conv2d_forward", kProduct, ModelConvolution, {.stride = 4, .padding = 5});
  for (const std::string_view name :
       {"conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "cudnn_convolution_transpose",
        "miopen_convolution_transpose", "slow_conv_transpose2d"}) {
    One(name, kProduct, ModelConvolutionTransposed);
  }
  One("convolution_backward", kProduct, ModelConvolutionBackward, {.flag = 7, .mask = 10});
  One("convolution_backward_overrideable", kProduct, ModelConvolutionBackward,
      {.flag = 6, .mask = 9});
}

void Table::AddAttention() {
  One("scaled_dot_product_attention", kProduct, ModelAttention, {.flag = 5});
  One("_scaled_dot_product_flash_attention", kProduct, ModelAttention, {.flag = 4});
  One("_scaled_dot_product_efficient_attention", kProduct, ModelAttention, {.flag = 6});
  One("_scaled_dot_product_cudnn_attention", kProduct, ModelAttention, {.flag = 6});
  One("_scaled_dot_product_fused_attention_overrideable", kProduct, ModelAttention, {.flag = 5});
  One("_flash_attention_forward", kProduct, ModelAttention, {.flag = 8, .sequence_first = true});
  One("_efficient_attention_forward", kProduct, ModelAttention,
      {.flag = 9, .sequence_first = true});
  One("_cudnn_attention_forward", kProduct, ModelAttention, {.flag = 10});
  One("flash_attn::_flash_attn_forward", kProduct, ModelAttention,
      {.flag = 5, .sequence_first = true});
  One("_scaled_dot_product_flash_attention_backward", kProduct, ModelAttentionBackward,
      {.first = 1, .flag = 11});
  One("_scaled_dot_product_efficient_attention_backward", kProduct, ModelAttentionBackward,
      {.first = 1, .flag = 11});
  One("_scaled_dot_product_cudnn_attention_backward", kProduct, ModelAttentionBackward,
      {.first = 1, .flag = 14});
  One("_flash_attention_backward", kProduct, ModelAttentionBackward,
      {.first = 1, .flag = 11, .sequence_first = true});
  One("_efficient_attention_backward", kProduct, ModelAttentionBackward,
      {.first = 1, .flag = 14, .sequence_first = true});
  One("_cudnn_attention_backward", kProduct, ModelAttentionBackward, {.first = 1, .flag = 14});
  One("flash_attn::_flash_attn_backward", kProduct, ModelAttentionBackward,
      {.first = 1, .flag = 11, .sequence_first = true});
}

void Table::AddRowwise() {
  // Mean, variance, scale and shift: seven operations an element; backward about twice that.
  for (const std::string_view name :
       {"native_layer_norm", "layer_norm", "native_batch_norm", "batch_norm",
        "_batch_norm_impl_index", "cudnn_batch_norm", "miopen_batch_norm",
        "_native_batch_norm_legit", "_batch_norm_with_update", "native_group_norm", "group_norm",
        "rms_norm", "_fused_rms_norm", "instance_norm"}) {
    One(name, kNorm, ModelRowwise, WorkOf(7));
  }
  for (const std::string_view name :
       {"native_layer_norm_backward", "native_batch_norm_backward", "cudnn_batch_norm_backward",
        "miopen_batch_norm_backward", "batch_norm_backward", "native_group_norm_backward",
        "_fused_rms_norm_backward"}) {
    One(name, kNorm, ModelRowwise, WorkOf(14));
  }
  One("_softmax", kSoftmax, ModelRowwise, {.flag = 2, .flops_per_element = 5});
  One("_log_softmax", kSoftmax, ModelRowwise, {.flag = 2, .flops_per_element = 5});
  for (const std::string_view name : {"softmax", "log_softmax", "_safe_softmax"}) {
    One(name, kSoftmax, ModelRowwise, WorkOf(5));
  }
  for (const std::string_view name : {"_softmax_backward_data", "_log_softmax_backward_data"}) {
    One(name, kSoftmax, ModelRowwise, WorkOf(4));
  }
}

void Table::AddElementwise() {
  All(kElementwiseNames, kElementwise, ModelElementwise);
  for (const std::string_view name : {"addcmul", "addcdiv", "lerp"}) {
    One(name, kElementwise, ModelElementwise, WorkOf(3));
  }
  All(kComparisons, kElementwise, ModelCompare);
  All(kFills, kElementwise, ModelFill, WorkOf(0));
  All(kRandomFills, kRandom, ModelFill);
  One("native_dropout", kRandom, ModelDropout, WorkOf(2));
  All(kReductions, kReduction, ModelReduction);
  for (const std::string_view name : {"cumsum", "cumprod"}) {
    One(name, kReduction, ModelElementwise);
  }
}

void Table::AddCopyAndIndex() {
  One("copy", kCopy, ModelCopy);
  All(kDuplicates, kCopy, ModelDuplicate);
  One("cat", kCopy, ModelConcat);
  One("_cat", kCopy, ModelConcat);
  One("embedding", kIndex, ModelEmbedding);
  One("embedding_dense_backward", kIndex, ModelEmbeddingBackward, {.flag = 2});
  One("_embedding_bag", kIndex, ModelEmbeddingBag);
  One("_embedding_bag_forward_only", kIndex, ModelEmbeddingBag);
  One("index_select", kIndex, ModelIndexSelect);
  One("gather", kIndex, ModelGather);
  for (const std::string_view name : {"scatter_add", "scatter", "index_add", "scatter_reduce"}) {
    One(name, kIndex, ModelScatter);
  }
}

void Table::AddPoolAndLoss() {
  const Schema pool{.flag = 1, .stride = 2, .padding = 3};
  One("max_pool2d_with_indices", kPool, ModelPool,
      {.flag = 1, .stride = 2, .padding = 3, .dilation = 4});
  for (const std::string_view name : {"avg_pool2d", "avg_pool3d"})
    One(name, kPool, ModelPool, pool);
  for (const std::string_view name : {"max_pool2d_with_indices_backward", "avg_pool2d_backward",
                                      "_adaptive_avg_pool2d_backward"}) {
    One(name, kPool, ModelReplaceSecond);
  }
  One("_adaptive_avg_pool2d", kPool, ModelReduction);
  One("nll_loss_forward", kLoss, ModelNllForward);
  One("nll_loss2d_forward", kLoss, ModelNllForward);
  One("nll_loss_backward", kLoss, ModelReplaceSecond);
  One("nll_loss2d_backward", kLoss, ModelReplaceSecond);
  for (const std::string_view name :
       {"mse_loss_backward", "smooth_l1_loss_backward", "huber_loss_backward",
        "binary_cross_entropy_backward", "mse_loss", "smooth_l1_loss", "huber_loss",
        "binary_cross_entropy"}) {
    One(name, kLoss, ModelElementwise, WorkOf(3));
  }
}

void Table::AddLists() {
  for (const std::string_view name :
       {"_foreach_add", "_foreach_sub", "_foreach_mul", "_foreach_div", "_foreach_sqrt",
        "_foreach_neg", "_foreach_abs", "_foreach_pow", "_foreach_reciprocal", "_foreach_rsqrt",
        "_foreach_maximum", "_foreach_minimum", "_foreach_clamp_min", "_foreach_clamp_max",
        "_foreach_sign"}) {
    One(name, kElementwise, ModelForeach);
  }
  for (const std::string_view name : {"_foreach_addcmul", "_foreach_addcdiv", "_foreach_lerp"}) {
    One(name, kElementwise, ModelForeach, WorkOf(3));
  }
  One("_foreach_norm", kReduction, ModelForeachRead, WorkOf(2));
  One("_foreach_copy", kCopy, ModelForeachRead, WorkOf(0));
  One("_foreach_zero", kElementwise, ModelForeachWrite);
  One("_fused_adam", kOptimizer, ModelFusedAdam);
  One("_fused_adamw", kOptimizer, ModelFusedAdam);
  One("_fused_sgd", kOptimizer, ModelFusedSgd, WorkOf(2));
  One("_fused_adagrad", kOptimizer, ModelFusedSgd, WorkOf(3));
}

// Names of other libraries keep their prefix in the table.
const Entry* Find(std::string_view op) {
  static const Table kTable;
  if (op.starts_with("aten::")) {
    op.remove_prefix(6);
    if (op.ends_with('_')) op.remove_suffix(1);  // in place: the same work
    return kTable.Find(op);
  }
  return op.starts_with("flash_attn::") ? kTable.Find(op) : nullptr;
}

template <typename T, typename Read>
std::optional<std::vector<T>> ReadList(std::string_view text, Read read) {
  if (text.empty()) return std::nullopt;
  if (text.starts_with('[') && text.ends_with(']')) text = text.substr(1, text.size() - 2);
  std::vector<T> values;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    std::string_view item = text.substr(0, end);
    while (item.starts_with(' ')) item.remove_prefix(1);
    T value{};
    if (!read(item, value)) return std::nullopt;
    values.push_back(value);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return values;
}

std::string_view ConcreteAt(const Arguments& arguments, int index) {
  return index >= 0 && static_cast<std::size_t>(index) < arguments.size()
             ? arguments[static_cast<std::size_t>(index)].concrete
             : std::string_view{};
}

}  // namespace

const ArgumentShape* TensorAt(const Arguments& arguments, std::size_t index) {
  return index < arguments.size() && arguments[index].IsTensor() ? &arguments[index] : nullptr;
}

std::optional<std::vector<std::int64_t>> IntegersOf(const Arguments& arguments, int index) {
  return ReadList<std::int64_t>(
      ConcreteAt(arguments, index), [](std::string_view item, std::int64_t& value) {
        const auto [end, error] = std::from_chars(item.data(), item.data() + item.size(), value);
        return error == std::errc{} && end == item.data() + item.size();
      });
}

std::optional<std::vector<bool>> FlagsOf(const Arguments& arguments, int index) {
  return ReadList<bool>(ConcreteAt(arguments, index), [](std::string_view item, bool& value) {
    value = item == "True" || item == "true" || item == "1";
    return value || item == "False" || item == "false" || item == "0";
  });
}

double ListElements(const ArgumentShape& list) {
  double elements = 0;
  for (const std::vector<std::int64_t>& dims : list.list) {
    double tensor = 1;
    for (const std::int64_t dim : dims) tensor *= static_cast<double>(dim);
    elements += tensor;
  }
  return elements;
}

ModelKind ModelKindOf(std::string_view op) {
  const Entry* entry = Find(op);
  return entry == nullptr ? kNone : entry->kind;
}

std::optional<Work> ModelOp(std::string_view op, const std::vector<ArgumentShape>& arguments) {
  const Entry* entry = Find(op);
  if (entry == nullptr || arguments.empty()) return std::nullopt;
  return entry->model(arguments, entry->schema);
}

}  // namespace hone::analyze
