// SPDX-License-Identifier: Apache-2.0
// What the text of an NVTX range says when PyTorch's emit_nvtx wrote it.
#pragma once

#include <cstdint>
#include <string_view>

namespace hone::importer::nsys {

// emit_nvtx writes "name[, seq = N][, op_id = N][, sizes = [[…]]][, input_op_ids = […]]" for every
// operator, and for record_function ranges too. Views point into the text.
struct NvtxName {
  std::string_view name;  // without the keys
  bool is_operator = false;
  std::int64_t sequence = -1;
  std::int64_t op_id = 0;
  std::string_view sizes;  // "[[64, 3], []]"
};

NvtxName ParseNvtxName(std::string_view text);

}  // namespace hone::importer::nsys
