// SPDX-License-Identifier: Apache-2.0
// What ends a chain that a compiler would make one kernel of, and what does not.
#include <gtest/gtest.h>

#include "replay/edits/batch_steps_test.h"
#include "replay/edits/edits.h"

namespace hone::replay {
namespace {

// Kernels that are left of an addition, `kernel` and an addition between two products.
int LeftOf(const char* kernel, const char* op) {
  const BatchKernel add{.name = kAdd, .op = "aten::add"};
  const Batched steps(std::move(BatchSteps().Steps({add, {.name = kernel, .op = op}, add, {}})));
  const FoundEdit edit = FindUnfusedElementwise(steps.model());
  if (!edit) return 3;
  Plan plan(steps.model().graph());
  (*edit)->Apply(steps.model(), Guess::kLikely, plan);
  int left = 0;
  for (std::size_t i = 0; i < 3; ++i) left += plan.duration_ns[steps.Task(i)] > 0 ? 1 : 0;
  return left;
}

TEST(UnfusedElementwise, RunningSumsAndReadsByIndexAreOfTheChain) {
  EXPECT_EQ(LeftOf("void at::native::tensor_kernel_scan_outer_dim<float, unsigned int, "
                   "std::plus<float> >",
                   "aten::cumsum"),
            1);
  EXPECT_EQ(LeftOf("void at::native::index_elementwise_kernel<128, 4, "
                   "at::native::flip_kernel_impl<at::native::OpaqueType<4> > >",
                   "aten::flip"),
            1);
  EXPECT_EQ(LeftOf("void at::native::vectorized_gather_kernel<16, long>", "aten::gather"), 1);
}

TEST(UnfusedElementwise, SortsScattersAndProductsEndIt) {
  EXPECT_EQ(LeftOf("void at_cuda_detail::cub::DeviceRadixSortOnesweepKernel", "aten::sort"), 3);
  EXPECT_EQ(LeftOf("void at_cuda_detail::cub::DeviceScanKernel<long>", "aten::nonzero"), 3);
  EXPECT_EQ(
      LeftOf("void at::native::indexing_backward_kernel_stride_1<float>", "aten::_index_put_impl_"),
      3);
  EXPECT_EQ(LeftOf(kGemm, "aten::mm"), 3);
}

// Clipping goes over the gradients of a model that is compiled; it is no part of it.
TEST(UnfusedElementwise, AllParametersAtOnceAreOfNoModel) {
  EXPECT_EQ(LeftOf("void at::native::(anonymous namespace)::multi_tensor_apply_kernel<"
                   "TensorListMetadata<1>, BinaryOpScalarTensorFunctor<float, 1, 1, 0> >",
                   "aten::_foreach_mul_"),
            3);
}

}  // namespace
}  // namespace hone::replay
