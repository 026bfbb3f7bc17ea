// SPDX-License-Identifier: Apache-2.0
#include "import/nsys/nvtx_name.h"

#include <charconv>

namespace hone::importer::nsys {
namespace {

// Takes "key" off the front of `rest`.
bool Eat(std::string_view& rest, std::string_view key) {
  if (!rest.starts_with(key)) return false;
  rest.remove_prefix(key.size());
  return true;
}

// A whole number that ends at a comma or at the end of the text.
bool EatNumber(std::string_view& rest, std::int64_t& number) {
  const char* end = rest.data() + rest.size();
  const auto [after, error] = std::from_chars(rest.data(), end, number);
  if (error != std::errc() || (after != end && *after != ',')) return false;
  rest.remove_prefix(static_cast<std::size_t>(after - rest.data()));
  return true;
}

// "[…]" with its closing bracket; what a writer cut off in the middle is taken to the end.
std::string_view EatList(std::string_view& rest) {
  std::size_t depth = 0, i = 0;
  for (; i < rest.size(); ++i) {
    if (rest[i] == '[') ++depth;
    if (rest[i] == ']' && --depth == 0) {
      ++i;
      break;
    }
  }
  const std::string_view list = rest.substr(0, i);
  rest.remove_prefix(i);
  return list;
}

// One ", key = value" off the front of `rest`.
bool EatKey(std::string_view& rest, NvtxName& result) {
  if (Eat(rest, ", seq = ")) return EatNumber(rest, result.sequence);
  if (Eat(rest, ", op_id = ")) return EatNumber(rest, result.op_id);
  if (rest.starts_with(", sizes = [")) {
    Eat(rest, ", sizes = ");
    result.sizes = EatList(rest);
    return true;
  }
  if (rest.starts_with(", input_op_ids = [")) {
    Eat(rest, ", input_op_ids = ");
    EatList(rest);
    return true;
  }
  return false;
}

// record_function ranges carry an op_id like operators do. Operators have a namespace ("aten::mm")
// or take part in autograd (seq); the two that PyTorch records without either are named.
bool LooksLikeOperator(const NvtxName& parsed) {
  return parsed.sequence >= 0 || parsed.name.find("::") != std::string_view::npos ||
         parsed.name.starts_with("triton_") || parsed.name == "record_param_comms";
}

}  // namespace

NvtxName ParseNvtxName(std::string_view text) {
  for (std::size_t comma = text.find(", "); comma != std::string_view::npos;
       comma = text.find(", ", comma + 1)) {
    NvtxName parsed;
    std::string_view rest = text.substr(comma);
    if (comma == 0 || !EatKey(rest, parsed)) continue;
    while (!rest.empty() && EatKey(rest, parsed)) {
    }
    parsed.name = text.substr(0, comma);
    parsed.is_operator = LooksLikeOperator(parsed);
    return parsed;
  }
  return NvtxName{text, false, -1, 0, {}};
}

}  // namespace hone::importer::nsys
