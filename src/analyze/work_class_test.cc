// SPDX-License-Identifier: Apache-2.0
#include "analyze/work_class.h"

#include <gtest/gtest.h>

#include "trace/builder.h"

namespace hone::analyze {
namespace {

TEST(WorkClass, CommunicationByName) {
  for (const char* name : {
           "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
           "ncclKernel_AllGather_RING_LL_Sum_int8_t",
           "void rcclGenericKernel<1, false>(ncclDevKernelArgsStorage<4096ul>)",
           "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(vllm::RankData*)",
           "void deep_ep::intranode::dispatch<8, 768, 8192>(int4*, float*)",
           "void deep_ep::internode_ll::combine<true>(void*)",
           "nvshmemi_transfer_rma_kernel",
           "void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<1>()",
           "void tensorrt_llm::kernels::oneShotAllReduceKernel<float>(AllReduceParams)",
           "userbuffers_fp16_sum_inplace_gpu_rw",
           "void c10d::(anonymous namespace)::two_shot_all_reduce_kernel<float, 8>(float**)",
           "mscclpp::allreduce8(void*)",
       }) {
    EXPECT_TRUE(IsCommunicationName(name)) << name;
  }
}

TEST(WorkClass, NearMissesAreNot) {
  for (const char* name : {
           "",
           "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float> >(float)",
           "void oneflow::softmax<oneflow::WarpAllReduce<float> >(float const*)",
           "void cuda::BlockAllReduceSum<float>(float*)",
           "triton_poi_fused_add_all_reduce_wait_tensor_0",
           "void moe_dispatch_kernel<float>(float*)",
           "sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n",
           "void at::native::vectorized_elementwise_kernel<4, allgather_like>(int)",
       }) {
    EXPECT_FALSE(IsCommunicationName(name)) << name;
  }
}

TEST(WorkClass, KindAndMetadataDecideBeforeTheName) {
  trace::Builder builder;
  const std::uint16_t stream = builder.StreamFor(0, 7);
  const auto add = [&](const char* name, trace::WorkKind kind, std::uint32_t collective) {
    builder.Add(trace::WorkInput{.start_ns = static_cast<Nanos>(builder.trace().device.size()),
                                 .duration_ns = 1,
                                 .name = builder.Intern(name),
                                 .kind = kind,
                                 .stream = stream,
                                 .collective = collective});
  };
  trace::Collective all_reduce;
  all_reduce.name = builder.Intern("allreduce");
  const std::uint32_t row = builder.CollectiveRow(all_reduce);
  add("Memcpy HtoD (Pinned -> Device)", trace::WorkKind::kCopy, 0);
  add("Memset (Device)", trace::WorkKind::kSet, 0);
  add("__amd_rocclr_copyBuffer", trace::WorkKind::kKernel, 0);
  add("MEMORY_COPY_HOST_TO_DEVICE", trace::WorkKind::kKernel, 0);
  add("__amd_rocclr_fillBufferAligned", trace::WorkKind::kKernel, 0);
  add("my_own_collective", trace::WorkKind::kKernel, row);
  add("graph 1", trace::WorkKind::kGraph, 0);
  const trace::Trace trace = std::move(builder).Finish();
  const WorkClasses classes(trace);
  const WorkClass expected[] = {WorkClass::kCopy,   WorkClass::kCompute, WorkClass::kCopy,
                                WorkClass::kCopy,   WorkClass::kCompute, WorkClass::kCommunication,
                                WorkClass::kCompute};
  for (trace::RowId i = 0; i < 7; ++i) EXPECT_EQ(classes[i], expected[i]) << trace.DeviceName(i);
}

}  // namespace
}  // namespace hone::analyze
