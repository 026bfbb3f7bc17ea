// SPDX-License-Identifier: Apache-2.0
// Operators whose time is the data they move: elementwise, norms, softmax, reductions, copies.
#include <algorithm>

#include "analyze/op_models.h"

namespace hone::analyze {
namespace {

struct Broadcast {
  double elements = 1;
  int bytes = 0;  // of one output element: the widest of the inputs
  double input_bytes = 0;
  bool any = false;
};

Broadcast BroadcastOf(const Arguments& arguments) {
  Broadcast out;
  std::vector<std::int64_t> dims;  // innermost first
  int scalar_bytes = 0;
  for (const ArgumentShape& argument : arguments) {
    const int bytes = TypeBytes(argument.type);
    if (bytes == 0) continue;
    out.any = true;
    out.input_bytes += argument.Bytes();
    // A tensor without dims does not widen the result (PyTorch's promotion rule).
    int& widest = argument.dims.empty() ? scalar_bytes : out.bytes;
    widest = std::max(widest, bytes);
    const std::size_t rank = argument.dims.size();
    if (rank > dims.size()) dims.resize(rank, 1);
    for (std::size_t i = 0; i < rank; ++i) {
      const std::int64_t dim = argument.dims[rank - 1 - i];
      if (dims[i] == 1) dims[i] = dim;
    }
  }
  if (out.bytes == 0) out.bytes = scalar_bytes;
  for (const std::int64_t dim : dims) out.elements *= static_cast<double>(dim);
  return out;
}

double InputBytes(const Arguments& arguments) {
  double bytes = 0;
  for (const ArgumentShape& argument : arguments) bytes += argument.Bytes();
  return bytes;
}

}  // namespace

std::optional<Work> ModelElementwise(const Arguments& arguments, const Schema& schema) {
  const Broadcast out = BroadcastOf(arguments);
  if (!out.any) return std::nullopt;
  return Work{schema.flops_per_element * out.elements, out.input_bytes + out.elements * out.bytes};
}

// The result is one byte an element.
std::optional<Work> ModelCompare(const Arguments& arguments, const Schema& schema) {
  const Broadcast out = BroadcastOf(arguments);
  if (!out.any) return std::nullopt;
  return Work{schema.flops_per_element * out.elements, out.input_bytes + out.elements};
}

// Writes its first argument, reads nothing.
std::optional<Work> ModelFill(const Arguments& arguments, const Schema& schema) {
  const ArgumentShape* target = TensorAt(arguments, 0);
  if (target == nullptr) return std::nullopt;
  return Work{schema.flops_per_element * target->Elements(), target->Bytes()};
}

// Norms and softmax, forward and backward: every tensor read, one result like the first argument.
// schema.flag: half_to_float, which makes the result fp32.
std::optional<Work> ModelRowwise(const Arguments& arguments, const Schema& schema) {
  const ArgumentShape* first = TensorAt(arguments, 0);
  if (first == nullptr || first->dims.empty()) return std::nullopt;
  double output = first->Bytes();
  if (const auto widen = FlagsOf(arguments, schema.flag); widen && !widen->empty() && (*widen)[0]) {
    output = first->Elements() * 4;
  }
  return Work{schema.flops_per_element * first->Elements(), InputBytes(arguments) + output};
}

// The result is left out: its size is in no argument, and it is the smaller side.
std::optional<Work> ModelReduction(const Arguments& arguments, const Schema& schema) {
  const ArgumentShape* input = TensorAt(arguments, 0);
  if (input == nullptr) return std::nullopt;
  return Work{schema.flops_per_element * input->Elements(), input->Bytes()};
}

// copy_(target, source): a small source is read once and spread.
std::optional<Work> ModelCopy(const Arguments& arguments, const Schema&) {
  const ArgumentShape* target = TensorAt(arguments, 0);
  const ArgumentShape* source = TensorAt(arguments, 1);
  if (target == nullptr || source == nullptr) return std::nullopt;
  return Work{0, target->Bytes() + source->Bytes()};
}

// One tensor in, its like out.
std::optional<Work> ModelDuplicate(const Arguments& arguments, const Schema&) {
  const ArgumentShape* input = TensorAt(arguments, 0);
  if (input == nullptr) return std::nullopt;
  return Work{0, 2 * input->Bytes()};
}

std::optional<Work> ModelConcat(const Arguments& arguments, const Schema&) {
  if (arguments.empty() || arguments[0].list.empty()) return std::nullopt;
  Work work;
  work.unsized_elements = 2 * ListElements(arguments[0]);
  return work;
}

// native_dropout: a result like the input, and a mask of one byte an element.
std::optional<Work> ModelDropout(const Arguments& arguments, const Schema& schema) {
  const ArgumentShape* input = TensorAt(arguments, 0);
  if (input == nullptr) return std::nullopt;
  return Work{schema.flops_per_element * input->Elements(), 2 * input->Bytes() + input->Elements()};
}

// Backward of pools and of nll_loss: the second argument's values are not read, but the result has
// its shape.
std::optional<Work> ModelReplaceSecond(const Arguments& arguments, const Schema& schema) {
  const ArgumentShape* second = TensorAt(arguments, 1);
  if (TensorAt(arguments, 0) == nullptr || second == nullptr) return std::nullopt;
  return Work{schema.flops_per_element * second->Elements(), InputBytes(arguments)};
}

// Reads one value a row and the row's target.
std::optional<Work> ModelNllForward(const Arguments& arguments, const Schema&) {
  const ArgumentShape* input = TensorAt(arguments, 0);
  const ArgumentShape* target = TensorAt(arguments, 1);
  if (input == nullptr || target == nullptr) return std::nullopt;
  return Work{target->Elements(), target->Bytes() + target->Elements() * TypeBytes(input->type)};
}

}  // namespace hone::analyze
