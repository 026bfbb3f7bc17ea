// SPDX-License-Identifier: Apache-2.0
// Models of operators, one function per shape of work; flops.cc has the table that names them.
// Internal to flops: everyone else calls ModelOp.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "analyze/flops.h"

namespace hone::analyze {

// Where an operator's schema keeps what its model needs; -1: it has none.
struct Schema {
  int first = 0;  // the first argument that the model reads
  int flag = -1;  // is_causal, transposed, output dtype: see each model
  int stride = -1, padding = -1, dilation = -1;  // convolutions and pools
  int mask = -1;                                 // output_mask of a backward operator
  bool sequence_first = false;                   // attention: [batch, sequence, heads, dim]
  double flops_per_element = 1;
};

using Arguments = std::vector<ArgumentShape>;
using Model = std::optional<Work> (*)(const Arguments& arguments, const Schema& schema);

// The tensor at `index`; null when there is none.
const ArgumentShape* TensorAt(const Arguments& arguments, std::size_t index);
// Texts of "Concrete Inputs": "[2, 2]" and "2", "[True, False]", "True".
std::optional<std::vector<std::int64_t>> IntegersOf(const Arguments& arguments, int index);
std::optional<std::vector<bool>> FlagsOf(const Arguments& arguments, int index);
double ListElements(const ArgumentShape& list);

// Products. flops_products.cc
std::optional<Work> ModelMatmul(const Arguments& arguments, const Schema& schema);
std::optional<Work> ModelLinear(const Arguments& arguments, const Schema& schema);
std::optional<Work> ModelGroupedMatmul(const Arguments& arguments, const Schema& schema);
std::optional<Work> ModelAttention(const Arguments& arguments, const Schema& schema);
std::optional<Work> ModelAttentionBackward(const Arguments& arguments, const Schema& schema);

// flops_convolution.cc
std::optional<Work> ModelConvolution(const Arguments& arguments, const Schema& schema);
std::optional<Work> ModelConvolutionTransposed(const Arguments& arguments, const Schema& schema);
std::optional<Work> ModelConvolutionBackward(const Arguments& arguments, const Schema& schema);
std::optional<Work> ModelPool(const Arguments& arguments, const Schema& schema);

// What moves data. flops_memory.cc
std::optional<Work> ModelElementwise(const Arguments& arguments, const Schema& schema);
std::optional<Work> ModelCompare(const Arguments& arguments, const Schema& schema);
std::optional<Work> ModelFill(const Arguments& arguments, const Schema& schema);
std::optional<Work> ModelRowwise(const Arguments& arguments, const Schema& schema);
std::optional<Work> ModelReduction(const Arguments& arguments, const Schema& schema);
std::optional<Work> ModelCopy(const Arguments& arguments, const Schema& schema);
std::optional<Work> ModelDuplicate(const Arguments& arguments, const Schema& schema);
std::optional<Work> ModelConcat(const Arguments& arguments, const Schema& schema);
std::optional<Work> ModelDropout(const Arguments& arguments, const Schema& schema);
std::optional<Work> ModelReplaceSecond(const Arguments& arguments, const Schema& schema);
std::optional<Work> ModelNllForward(const Arguments& arguments, const Schema& schema);

// flops_indexing.cc
std::optional<Work> ModelEmbedding(const Arguments& arguments, const Schema& schema);
std::optional<Work> ModelEmbeddingBackward(const Arguments& arguments, const Schema& schema);
std::optional<Work> ModelEmbeddingBag(const Arguments& arguments, const Schema& schema);
std::optional<Work> ModelIndexSelect(const Arguments& arguments, const Schema& schema);
std::optional<Work> ModelGather(const Arguments& arguments, const Schema& schema);
std::optional<Work> ModelScatter(const Arguments& arguments, const Schema& schema);
std::optional<Work> ModelForeach(const Arguments& arguments, const Schema& schema);
std::optional<Work> ModelForeachRead(const Arguments& arguments, const Schema& schema);
std::optional<Work> ModelForeachWrite(const Arguments& arguments, const Schema& schema);
std::optional<Work> ModelFusedAdam(const Arguments& arguments, const Schema& schema);
std::optional<Work> ModelFusedSgd(const Arguments& arguments, const Schema& schema);

}  // namespace hone::analyze
