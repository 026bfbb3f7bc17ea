// SPDX-License-Identifier: Apache-2.0
// Embeddings, gathers and scatters, and the optimizers' lists of tensors.
#include "analyze/op_models.h"

namespace hone::analyze {

// weight [rows, dim], indices: each row asked for is read and written.
std::optional<Work> ModelEmbedding(const Arguments& arguments, const Schema&) {
  const ArgumentShape* weight = TensorAt(arguments, 0);
  const ArgumentShape* indices = TensorAt(arguments, 1);
  if (weight == nullptr || indices == nullptr || weight->dims.size() != 2) return std::nullopt;
  const double row = static_cast<double>(weight->dims[1]) * TypeBytes(weight->type);
  return Work{0, indices->Bytes() + 2 * indices->Elements() * row};
}

// gradient [..., dim], indices, number of rows: the whole table of gradients is written.
std::optional<Work> ModelEmbeddingBackward(const Arguments& arguments, const Schema& schema) {
  const ArgumentShape* gradient = TensorAt(arguments, 0);
  const ArgumentShape* indices = TensorAt(arguments, 1);
  const auto rows = IntegersOf(arguments, schema.flag);
  if (gradient == nullptr || indices == nullptr || gradient->dims.empty() || !rows ||
      rows->size() != 1) {
    return std::nullopt;
  }
  const double row = static_cast<double>(gradient->dims.back()) * TypeBytes(gradient->type);
  return Work{gradient->Elements(),
              gradient->Bytes() + indices->Bytes() + static_cast<double>(rows->front()) * row};
}

// weight, indices, offsets: one result row a bag.
std::optional<Work> ModelEmbeddingBag(const Arguments& arguments, const Schema&) {
  const ArgumentShape* weight = TensorAt(arguments, 0);
  const ArgumentShape* indices = TensorAt(arguments, 1);
  const ArgumentShape* offsets = TensorAt(arguments, 2);
  if (weight == nullptr || indices == nullptr || offsets == nullptr || weight->dims.size() != 2) {
    return std::nullopt;
  }
  const auto dim = static_cast<double>(weight->dims[1]);
  return Work{indices->Elements() * dim,
              indices->Bytes() + offsets->Bytes() +
                  (indices->Elements() + offsets->Elements()) * dim * TypeBytes(weight->type)};
}

// self, dim, index [n]: n slices read and written.
std::optional<Work> ModelIndexSelect(const Arguments& arguments, const Schema&) {
  const ArgumentShape* self = TensorAt(arguments, 0);
  const ArgumentShape* index = TensorAt(arguments, 2);
  const auto dim = IntegersOf(arguments, 1);
  if (self == nullptr || index == nullptr || !dim || dim->size() != 1) return std::nullopt;
  const auto rank = static_cast<std::int64_t>(self->dims.size());
  if (dim->front() < -rank || dim->front() >= rank) return std::nullopt;
  const std::int64_t at = dim->front() < 0 ? dim->front() + rank : dim->front();
  const auto along = static_cast<double>(self->dims[static_cast<std::size_t>(at)]);
  if (along == 0) return std::nullopt;
  return Work{0, index->Bytes() + 2 * index->Elements() * self->Bytes() / along};
}

// self, dim, index: one element an index.
std::optional<Work> ModelGather(const Arguments& arguments, const Schema&) {
  const ArgumentShape* self = TensorAt(arguments, 0);
  const ArgumentShape* index = TensorAt(arguments, 2);
  if (self == nullptr || index == nullptr) return std::nullopt;
  return Work{0, index->Bytes() + 2 * index->Elements() * TypeBytes(self->type)};
}

// self, dim, index, source: each source element is read, and its place read and written.
std::optional<Work> ModelScatter(const Arguments& arguments, const Schema& schema) {
  const ArgumentShape* self = TensorAt(arguments, 0);
  const ArgumentShape* index = TensorAt(arguments, 2);
  const ArgumentShape* source = TensorAt(arguments, 3);
  if (self == nullptr || index == nullptr || source == nullptr) return std::nullopt;
  return Work{schema.flops_per_element * source->Elements(), index->Bytes() + 3 * source->Bytes()};
}

// _foreach_op(lists …): every list read, one like the first written.
std::optional<Work> ModelForeach(const Arguments& arguments, const Schema& schema) {
  if (arguments.empty() || arguments[0].list.empty()) return std::nullopt;
  const double first = ListElements(arguments[0]);
  Work work;
  work.flops = schema.flops_per_element * first;
  work.unsized_elements = first;
  for (const ArgumentShape& argument : arguments) work.unsized_elements += ListElements(argument);
  return work;
}

// Norms of lists: read only. _foreach_copy_(target, source): one list written, the other read.
std::optional<Work> ModelForeachRead(const Arguments& arguments, const Schema& schema) {
  auto work = ModelForeach(arguments, schema);
  if (work) work->unsized_elements -= ListElements(arguments[0]);
  return work;
}

std::optional<Work> ModelForeachWrite(const Arguments& arguments, const Schema&) {
  if (arguments.empty() || arguments[0].list.empty()) return std::nullopt;
  Work work;
  work.unsized_elements = ListElements(arguments[0]);
  return work;
}

// parameters, gradients, averages, squared averages[, maxima of those], steps: all read, all but
// the gradients written. Twelve operations an element: two decayed averages (three and four), the
// root, division, scale and the update.
std::optional<Work> ModelFusedAdam(const Arguments& arguments, const Schema&) {
  if (arguments.size() < 5 || arguments[0].list.empty()) return std::nullopt;
  const double parameters = ListElements(arguments[0]);
  const bool amsgrad = !arguments[4].list.empty();
  Work work;
  work.flops = 12 * parameters;
  work.unsized_elements = (amsgrad ? 9 : 7) * parameters;
  return work;
}

// parameters, gradients, momenta (or sums of squares): read; parameters and momenta written.
std::optional<Work> ModelFusedSgd(const Arguments& arguments, const Schema& schema) {
  if (arguments.size() < 3 || arguments[0].list.empty()) return std::nullopt;
  const double parameters = ListElements(arguments[0]);
  const bool momentum = !arguments[2].list.empty();
  Work work;
  work.flops = schema.flops_per_element * (momentum ? 2 : 1) * parameters;
  work.unsized_elements = (momentum ? 5 : 3) * parameters;
  return work;
}

}  // namespace hone::analyze
