// SPDX-License-Identifier: Apache-2.0
// Matrix products and attention.
#include <algorithm>

#include "analyze/op_models.h"

namespace hone::analyze {
namespace {

double D(std::int64_t dim) { return static_cast<double>(dim); }

// c10::ScalarType as "Concrete Inputs" writes it (c10/core/ScalarType.h).
int ScalarTypeBytes(std::int64_t type) {
  switch (type) {
    case 5:
    case 15: return 2;  // Half, BFloat16
    case 3:
    case 6: return 4;  // Int, Float
    case 7: return 8;
    case 23:
    case 24: return 1;  // Float8_e5m2, Float8_e4m3fn
    default: return 0;
  }
}

struct Attention {
  double batch, heads, kv_heads, queries, keys, dim, value_dim;
};

std::optional<Attention> ReadAttention(const Arguments& arguments, const Schema& schema) {
  const auto first = static_cast<std::size_t>(schema.first);
  const ArgumentShape* q = TensorAt(arguments, first);
  const ArgumentShape* k = TensorAt(arguments, first + 1);
  const ArgumentShape* v = TensorAt(arguments, first + 2);
  // Three dimensions: sequences packed end to end, whose lengths the trace does not have.
  if (q == nullptr || k == nullptr || v == nullptr || q->dims.size() != 4 || k->dims.size() != 4 ||
      v->dims.size() != 4) {
    return std::nullopt;
  }
  const std::size_t heads = schema.sequence_first ? 2 : 1, sequence = schema.sequence_first ? 1 : 2;
  return Attention{D(q->dims[0]),        D(q->dims[heads]), D(k->dims[heads]), D(q->dims[sequence]),
                   D(k->dims[sequence]), D(q->dims[3]),     D(v->dims[3])};
}

// 1, or one half under a causal mask: the kernels skip the masked half.
std::optional<double> MaskShare(const Arguments& arguments, const Schema& schema) {
  if (schema.flag < 0 || static_cast<std::size_t>(schema.flag) >= arguments.size()) {
    return std::nullopt;
  }
  const std::string_view flag = arguments[static_cast<std::size_t>(schema.flag)].concrete;
  if (flag == "True" || flag == "1" || flag == "2") return 0.5;  // 1, 2: custom_mask_type
  if (flag == "False" || flag == "0") return 1.0;
  return std::nullopt;  // not recorded: twice or half is no answer
}

}  // namespace

// [bias,] a, b: [..., m, k] x [..., k, n], either side a vector, batches broadcast. schema.flag:
// the argument with the output's dtype; else the output has a's.
std::optional<Work> ModelMatmul(const Arguments& arguments, const Schema& schema) {
  const auto first = static_cast<std::size_t>(schema.first);
  const ArgumentShape* a = TensorAt(arguments, first);
  const ArgumentShape* b = TensorAt(arguments, first + 1);
  if (a == nullptr || b == nullptr || a->dims.empty() || b->dims.empty()) return std::nullopt;
  const std::size_t rank_a = a->dims.size(), rank_b = b->dims.size();
  const double m = rank_a > 1 ? D(a->dims[rank_a - 2]) : 1;
  double k = D(a->dims[rank_a - 1]);
  const double n = rank_b > 1 ? D(b->dims[rank_b - 1]) : 1;
  if (k != D(rank_b > 1 ? b->dims[rank_b - 2] : b->dims[0])) return std::nullopt;
  if (TypePrecision(a->type) == Precision::kFp4) k *= 2;  // two values to the byte
  double batch = 1;
  for (std::size_t i = 2; i < std::max(rank_a, rank_b); ++i) {
    const std::int64_t from_a = i < rank_a ? a->dims[rank_a - 1 - i] : 1;
    const std::int64_t from_b = i < rank_b ? b->dims[rank_b - 1 - i] : 1;
    batch *= D(from_a == 1 ? from_b : from_a);
  }
  int out_bytes = TypeBytes(a->type);
  if (out_bytes == 1) out_bytes = TypePrecision(a->type) == Precision::kInt8 ? 4 : 2;
  if (const auto type = IntegersOf(arguments, schema.flag); type && type->size() == 1) {
    if (const int bytes = ScalarTypeBytes(type->front()); bytes > 0) out_bytes = bytes;
  }
  Work work;
  work.flops = 2 * batch * m * n * k;
  work.bytes = a->Bytes() + b->Bytes() + batch * m * n * out_bytes;
  if (first > 0 && arguments[0].IsTensor()) work.bytes += arguments[0].Bytes();
  return work;
}

// input [..., k], weight [n, k], bias [n].
std::optional<Work> ModelLinear(const Arguments& arguments, const Schema&) {
  const ArgumentShape* input = TensorAt(arguments, 0);
  const ArgumentShape* weight = TensorAt(arguments, 1);
  if (input == nullptr || weight == nullptr || input->dims.empty() || weight->dims.size() != 2 ||
      input->dims.back() != weight->dims[1] || weight->dims[1] == 0) {
    return std::nullopt;
  }
  const double rows = input->Elements() / D(weight->dims[1]), n = D(weight->dims[0]);
  Work work;
  work.flops = 2 * rows * n * D(weight->dims[1]);
  work.bytes = input->Bytes() + weight->Bytes() + rows * n * TypeBytes(input->type);
  if (const ArgumentShape* bias = TensorAt(arguments, 2)) work.bytes += bias->Bytes();
  return work;
}

// _grouped_mm: every row of a (or column of b) belongs to one group, so the groups add no work:
// 2D x 3D and 2D x 2D cost as one product, 3D x 3D as a batch.
std::optional<Work> ModelGroupedMatmul(const Arguments& arguments, const Schema& schema) {
  const ArgumentShape* a = TensorAt(arguments, 0);
  const ArgumentShape* b = TensorAt(arguments, 1);
  if (a == nullptr || b == nullptr || a->dims.size() < 2 || b->dims.size() < 2) return std::nullopt;
  if (a->dims.size() == 3 && b->dims.size() == 3) return ModelMatmul(arguments, schema);
  const double m = D(a->dims[a->dims.size() - 2]), k = D(a->dims.back()), n = D(b->dims.back());
  const ArgumentShape* offsets = TensorAt(arguments, 2);
  const bool over_k = a->dims.size() == 2 && b->dims.size() == 2;
  const double groups = over_k && offsets != nullptr ? offsets->Elements() : 1;
  Work work;
  work.flops = 2 * m * n * k;
  work.bytes = a->Bytes() + b->Bytes() + groups * m * n * std::max(2, TypeBytes(a->type));
  return work;
}

// Two products: queries x keys and weights x values.
std::optional<Work> ModelAttention(const Arguments& arguments, const Schema& schema) {
  const auto shape = ReadAttention(arguments, schema);
  const auto share = MaskShare(arguments, schema);
  if (!shape || !share) return std::nullopt;
  const auto first = static_cast<std::size_t>(schema.first);
  const ArgumentShape& q = arguments[first];
  Work work;
  work.flops = *share * 2 * shape->batch * shape->heads * shape->queries * shape->keys *
               (shape->dim + shape->value_dim);
  work.bytes = q.Bytes() + arguments[first + 1].Bytes() + arguments[first + 2].Bytes() +
               shape->batch * shape->heads * shape->queries * shape->value_dim * TypeBytes(q.type);
  return work;
}

// Five products: the scores once more, and the gradients of values, weights, queries and keys.
std::optional<Work> ModelAttentionBackward(const Arguments& arguments, const Schema& schema) {
  const auto shape = ReadAttention(arguments, schema);
  const auto share = MaskShare(arguments, schema);
  if (!shape || !share) return std::nullopt;
  const auto first = static_cast<std::size_t>(schema.first);
  const ArgumentShape& q = arguments[first];
  const double output =
      shape->batch * shape->heads * shape->queries * shape->value_dim * TypeBytes(q.type);
  Work work;
  work.flops = *share * 2 * shape->batch * shape->heads * shape->queries * shape->keys *
               (3 * shape->dim + 2 * shape->value_dim);
  // q, k, v read and their gradients written; output and its gradient read.
  work.bytes =
      2 * (q.Bytes() + arguments[first + 1].Bytes() + arguments[first + 2].Bytes()) + 2 * output;
  return work;
}

}  // namespace hone::analyze
