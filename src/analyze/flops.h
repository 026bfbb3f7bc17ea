// SPDX-License-Identifier: Apache-2.0
// FLOPs and bytes of operators from their shapes. docs/user/efficiency.md has the formulas.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace hone::analyze {

// One argument as the trace describes it: a tensor has dims and a dtype; a TensorList has tensors.
struct ArgumentShape {
  std::vector<std::int64_t> dims;
  std::string_view type;                    // "float", "c10::BFloat16", "Scalar", …
  std::vector<std::vector<std::int64_t>> list;  // TensorList
  std::string_view concrete;                // text of "Concrete Inputs", where given
};

// Parses the JSON text of "Input Dims", "Input type" and "Concrete Inputs". Empty on malformed text.
std::vector<ArgumentShape> ParseArguments(std::string_view dims, std::string_view types,
                                          std::string_view concrete);

struct Work {
  double flops = 0;   // one multiply-add is two
  double bytes = 0;   // least traffic: each input read once, each output written once
};

// Absent for operators without a model.
std::optional<Work> ModelOp(std::string_view op, const std::vector<ArgumentShape>& arguments);

}  // namespace hone::analyze
