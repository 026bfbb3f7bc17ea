// SPDX-License-Identifier: Apache-2.0
// Convolutions and pools. FLOPs and bytes need no care for groups: a grouped weight has fewer
// elements, and each of them meets each output position once.
#include <algorithm>
#include <cmath>

#include "analyze/op_models.h"

namespace hone::analyze {
namespace {

double Product(const std::vector<std::int64_t>& dims, std::size_t from) {
  double product = 1;
  for (std::size_t i = from; i < dims.size(); ++i) product *= static_cast<double>(dims[i]);
  return product;
}

// Value of one spatial dimension: "[2]" stands for all of them.
std::int64_t At(const std::vector<std::int64_t>& values, std::size_t i) {
  return values.size() == 1 ? values[0] : values[i];
}

struct Window {
  std::vector<std::int64_t> stride, padding, dilation;
};

std::optional<Window> ReadWindow(const Arguments& arguments, const Schema& schema,
                                 std::size_t rank) {
  Window window;
  const auto read = [&](int index, std::int64_t otherwise, std::vector<std::int64_t>& values) {
    if (index < 0) {
      values = {otherwise};
      return true;
    }
    const auto given = IntegersOf(arguments, index);
    if (!given || (given->size() != 1 && given->size() != rank)) return false;
    values = *given;
    return true;
  };
  if (!read(schema.stride, 1, window.stride) || !read(schema.padding, 0, window.padding) ||
      !read(schema.dilation, 1, window.dilation)) {
    return std::nullopt;
  }
  return window;
}

// Output positions per image and channel; absent on values that no operator would accept.
std::optional<double> Positions(const std::vector<std::int64_t>& input, std::size_t spatial_from,
                                const std::vector<std::int64_t>& kernel, std::size_t kernel_from,
                                const Window& window) {
  double positions = 1;
  for (std::size_t i = 0; i + kernel_from < kernel.size(); ++i) {
    const auto stride = static_cast<double>(At(window.stride, i));
    const double reach = static_cast<double>(At(window.dilation, i)) *
                             (static_cast<double>(kernel[kernel_from + i]) - 1) +
                         1;
    const double room = static_cast<double>(input[spatial_from + i]) +
                        2 * static_cast<double>(At(window.padding, i)) - reach;
    if (stride < 1 || room < 0) return std::nullopt;
    positions *= std::floor(room / stride) + 1;
  }
  return positions;
}

struct Pair {
  const ArgumentShape* input;
  const ArgumentShape* weight;
  double batch;
  std::size_t spatial_from;  // in the input's dims
};

std::optional<Pair> ReadPair(const Arguments& arguments, std::size_t first) {
  const ArgumentShape* input = TensorAt(arguments, first);
  const ArgumentShape* weight = TensorAt(arguments, first + 1);
  if (input == nullptr || weight == nullptr || weight->dims.size() < 3) return std::nullopt;
  const std::size_t rank = weight->dims.size();
  if (input->dims.size() == rank) {
    return Pair{input, weight, static_cast<double>(input->dims[0]), 2};
  }
  if (input->dims.size() + 1 == rank) return Pair{input, weight, 1, 1};  // no batch dimension
  return std::nullopt;
}

// Weights are (outputs, inputs of a group, …); of a transposed one (inputs, outputs of a group, …).
// `other`: channels of what the second dimension is a group's part of; 0: not known.
void CountGroups(const ArgumentShape& weight, double other, Work& work) {
  const auto all = static_cast<double>(weight.dims[0]), part = static_cast<double>(weight.dims[1]);
  if (all <= 0 || part <= 0) return;
  work.groups = other > 0 ? std::max(1.0, std::floor(other / part)) : 1;
  work.group_channels = std::min(part, all / work.groups);
}

double ChannelsOf(const ArgumentShape& tensor, std::size_t spatial_from) {
  return static_cast<double>(tensor.dims[spatial_from - 1]);
}

}  // namespace

std::optional<Work> ModelConvolution(const Arguments& arguments, const Schema& schema) {
  const auto pair = ReadPair(arguments, static_cast<std::size_t>(schema.first));
  if (!pair) return std::nullopt;
  if (schema.flag >= 0) {  // transposed
    const auto transposed = FlagsOf(arguments, schema.flag);
    if (!transposed || transposed->empty()) return std::nullopt;
    if (transposed->front()) return ModelConvolutionTransposed(arguments, schema);
  }
  const auto window = ReadWindow(arguments, schema, pair->weight->dims.size() - 2);
  if (!window) return std::nullopt;
  const auto positions =
      Positions(pair->input->dims, pair->spatial_from, pair->weight->dims, 2, *window);
  if (!positions) return std::nullopt;
  const double outputs = pair->batch * static_cast<double>(pair->weight->dims[0]) * *positions;
  Work work;
  work.flops = 2 * pair->batch * *positions * pair->weight->Elements();
  work.bytes =
      pair->input->Bytes() + pair->weight->Bytes() + outputs * TypeBytes(pair->input->type);
  CountGroups(*pair->weight, ChannelsOf(*pair->input, pair->spatial_from), work);
  return work;
}

// Each input position meets each weight once. The output's size is left out of the bytes where the
// schema does not give stride and padding.
std::optional<Work> ModelConvolutionTransposed(const Arguments& arguments, const Schema& schema) {
  const auto pair = ReadPair(arguments, static_cast<std::size_t>(schema.first));
  if (!pair) return std::nullopt;
  const double positions = Product(pair->input->dims, pair->spatial_from);
  Work work;
  work.flops = 2 * pair->batch * positions * pair->weight->Elements();
  work.bytes = pair->input->Bytes() + pair->weight->Bytes();
  CountGroups(*pair->weight, 0, work);
  return work;
}

// grad_output, input, weight, …, transposed (schema.flag), …, output_mask (schema.mask). One
// product for the gradient of the input and one for that of the weight, each as large as forward.
std::optional<Work> ModelConvolutionBackward(const Arguments& arguments, const Schema& schema) {
  const ArgumentShape* gradient = TensorAt(arguments, 0);
  const auto pair = ReadPair(arguments, 1);
  const auto transposed = FlagsOf(arguments, schema.flag);
  const auto mask = FlagsOf(arguments, schema.mask);
  if (gradient == nullptr || !pair || !transposed || transposed->empty() || !mask ||
      mask->size() != 3 || gradient->dims.size() != pair->input->dims.size()) {
    return std::nullopt;
  }
  const double positions = transposed->front() ? Product(pair->input->dims, pair->spatial_from)
                                               : Product(gradient->dims, pair->spatial_from);
  const double forward = 2 * pair->batch * positions * pair->weight->Elements();
  Work work;
  CountGroups(*pair->weight,
              ChannelsOf(transposed->front() ? *gradient : *pair->input, pair->spatial_from), work);
  work.bytes = gradient->Bytes();
  for (std::size_t i = 0; i < 2; ++i) {
    if (!(*mask)[i]) continue;
    work.flops += forward;
    work.bytes += pair->input->Bytes() + pair->weight->Bytes();  // one read, the other written
  }
  return work;
}

// input, kernel (schema.flag), stride, padding[, dilation].
std::optional<Work> ModelPool(const Arguments& arguments, const Schema& schema) {
  const ArgumentShape* input = TensorAt(arguments, 0);
  auto kernel = IntegersOf(arguments, schema.flag);
  if (input == nullptr || !kernel || kernel->empty() || kernel->size() + 1 > input->dims.size()) {
    return std::nullopt;
  }
  const std::size_t spatial_from = input->dims.size() - kernel->size();
  Schema with_stride = schema;
  // An empty stride means the kernel's.
  if (const auto stride = IntegersOf(arguments, schema.stride); stride && stride->empty()) {
    with_stride.stride = schema.flag;
  }
  const auto window = ReadWindow(arguments, with_stride, kernel->size());
  if (!window) return std::nullopt;
  const auto positions = Positions(input->dims, spatial_from, *kernel, 0, *window);
  if (!positions) return std::nullopt;
  const double images = Product(
      {input->dims.begin(), input->dims.begin() + static_cast<std::ptrdiff_t>(spatial_from)}, 0);
  Work work;
  work.flops = images * *positions * Product(*kernel, 0);
  work.bytes = input->Bytes() + images * *positions * TypeBytes(input->type);
  return work;
}

}  // namespace hone::analyze
