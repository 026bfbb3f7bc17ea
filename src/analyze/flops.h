// SPDX-License-Identifier: Apache-2.0
// FLOPs and bytes of operators from their shapes. docs/user/efficiency.md has the formulas.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "analyze/kernel_family.h"

namespace hone::analyze {

// One argument as the trace describes it: a tensor has dims and a dtype; a TensorList has tensors.
struct ArgumentShape {
  std::vector<std::int64_t> dims;
  std::string_view type;                        // "float", "c10::BFloat16", "Scalar", …
  std::vector<std::vector<std::int64_t>> list;  // TensorList
  std::string_view concrete;                    // text of "Concrete Inputs", where given

  bool IsTensor() const;
  double Elements() const;  // 1 for a tensor without dims
  double Bytes() const;     // 0 when it is no tensor
};

// Parses the JSON text of "Input Dims", "Input type" and "Concrete Inputs". Empty on malformed
// text. `type` and `concrete` point into the given texts, escapes left as they are.
std::vector<ArgumentShape> ParseArguments(std::string_view dims, std::string_view types,
                                          std::string_view concrete);

struct Work {
  double flops = 0;  // one multiply-add is two
  double bytes = 0;  // least traffic: each input read once, each output written once
  // Elements read and written whose size the trace does not tell (TensorLists have no dtype); the
  // kernel's name often does.
  double unsized_elements = 0;
  // Of convolutions, else 0: groups, and the fewer of the input's and the output's channels in one.
  // A transposed one has one group where its operator does not tell.
  double groups = 0, group_channels = 0;
};

// What an operator does, as far as double counting goes: of two nested operators of one kind only
// the inner one's work is real (linear calls addmm, layer_norm calls native_layer_norm).
enum class ModelKind : std::uint8_t {
  kNone,     // no model
  kProduct,  // matmul, convolution, attention
  kNorm,
  kSoftmax,
  kElementwise,
  kReduction,
  kIndex,
  kCopy,
  kPool,
  kLoss,
  kRandom,
  kOptimizer,
};
ModelKind ModelKindOf(std::string_view op);

// Absent for operators without a model, and where the shapes do not determine the work.
std::optional<Work> ModelOp(std::string_view op, const std::vector<ArgumentShape>& arguments);

// Of "Input type" text. 0 and kUnknown for what is no tensor ("Scalar", "").
int TypeBytes(std::string_view type);
Precision TypePrecision(std::string_view type);

}  // namespace hone::analyze
