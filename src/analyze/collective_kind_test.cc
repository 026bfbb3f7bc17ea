// SPDX-License-Identifier: Apache-2.0
#include "analyze/collective_kind.h"

#include <gtest/gtest.h>

namespace hone::analyze {
namespace {

using Kind = CollectiveKind;

TEST(CollectiveKind, NamesOldAndNew) {
  const std::pair<const char*, Kind> cases[] = {
      {"ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)",
       Kind::kAllReduce},
      {"ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
       Kind::kAllReduce},
      {"ncclKernel_AllGather_RING_LL_Sum_int8_t(ncclWorkElem)", Kind::kAllGather},
      {"ncclDevKernel_ReduceScatter_Sum_f32_RING_SIMPLE(…)", Kind::kReduceScatter},
      {"ncclDevKernel_Broadcast_RING_LL(…)", Kind::kBroadcast},
      {"ncclDevKernel_Reduce_Sum_f32_RING_LL(…)", Kind::kReduce},
      {"ncclDevKernel_SendRecv(…)", Kind::kSendRecv},
      {"ncclDevKernel_Generic(…)", Kind::kUnknown},
      {"allreduce", Kind::kAllReduce},
      {"allreduce_coalesced", Kind::kAllReduce},
      {"_allgather_base", Kind::kAllGather},
      {"all_gather_into_tensor_coalesced", Kind::kAllGather},
      {"_reduce_scatter_base", Kind::kReduceScatter},
      {"all_to_allv", Kind::kAllToAll},
      {"nccl:all_to_all", Kind::kAllToAll},
      {"gloo:all_reduce", Kind::kAllReduce},
      {"c10d::allreduce_", Kind::kAllReduce},
      {"_broadcast_oop", Kind::kBroadcast},
      {"nccl:send 0->1", Kind::kSend},
      {"nccl:recv 0<-1", Kind::kRecv},
      {"barrier", Kind::kBarrier},
      {"gather", Kind::kGather},
      {"scatter", Kind::kScatter},
      {"reduce", Kind::kReduce},
      {"wait", Kind::kUnknown},
      {"", Kind::kUnknown},
      {"void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(…)", Kind::kAllReduce},
      {"void at::native::(anonymous namespace)::multimem_all_reduce_kernel<float>(float*)",
       Kind::kAllReduce},
      {"void deep_ep::internode::dispatch<false>(…)", Kind::kAllToAll},
      // What stands in the arguments is not what the kernel does.
      {"ncclDevKernel_Generic<AllReduceArgs>(ReduceScatter)", Kind::kUnknown},
  };
  for (const auto& [name, kind] : cases) EXPECT_EQ(KindFromName(name), kind) << name;
}

TEST(CollectiveKind, DataTypes) {
  EXPECT_EQ(DataTypeFromText("Half").bytes, 2);
  EXPECT_EQ(DataTypeFromText("BFloat16").name, "bfloat16");
  EXPECT_EQ(DataTypeFromText("c10::BFloat16").name, "bfloat16");
  EXPECT_EQ(DataTypeFromText("Float8_e4m3fn").bytes, 1);
  EXPECT_EQ(DataTypeFromText("Int").bytes, 4);
  EXPECT_EQ(DataTypeFromText("long int").bytes, 8);
  EXPECT_EQ(DataTypeFromText("Byte").name, "uint8");
  EXPECT_EQ(DataTypeFromText("unsigned char").name, "uint8");
  EXPECT_EQ(DataTypeFromText("c10::complex<float>").bytes, 8);
  EXPECT_EQ(DataTypeFromText("Float9").bytes, -1);
  EXPECT_EQ(DataTypeFromText("").bytes, -1);

  EXPECT_EQ(
      DataTypeFromKernel("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(x)", Kind::kAllReduce).name,
      "bfloat16");
  EXPECT_EQ(
      DataTypeFromKernel("ncclKernel_AllReduce_RING_LL_Sum___nv_bfloat16(x)", Kind::kAllReduce)
          .name,
      "bfloat16");
  EXPECT_EQ(DataTypeFromKernel("ncclKernel_AllReduce_RING_LL_Sum_float(x)", Kind::kAllReduce).name,
            "float32");
  EXPECT_EQ(
      DataTypeFromKernel("ncclKernel_AllReduce_TREE_LL_Sum_uint8_t(x)", Kind::kAllReduce).name,
      "uint8");
  // NCCL writes int8 for whatever it only moves.
  EXPECT_EQ(DataTypeFromKernel("ncclKernel_AllGather_RING_LL_Sum_int8_t(x)", Kind::kAllGather).name,
            "");
  EXPECT_EQ(DataTypeFromKernel("ncclDevKernel_AllReduce_RING_LL(float*)", Kind::kAllReduce).name,
            "");
}

TEST(CollectiveKind, MessageAsNcclTestsCountIt) {
  EXPECT_EQ(*MessageElements(Kind::kAllReduce, 100, 100, 8), 100);
  EXPECT_EQ(*MessageElements(Kind::kAllGather, 100, 800, 8), 800);
  EXPECT_EQ(*MessageElements(Kind::kAllGather, 100, -1, 8), 800);
  EXPECT_FALSE(MessageElements(Kind::kAllGather, 100, -1, -1));
  EXPECT_EQ(*MessageElements(Kind::kReduceScatter, 800, 100, 8), 800);
  EXPECT_EQ(*MessageElements(Kind::kAllToAll, 640, 320, 8), 640);
  EXPECT_EQ(*MessageElements(Kind::kGather, 100, 0, 8), 800);  // as a rank that is not the root
  EXPECT_EQ(*MessageElements(Kind::kRecv, -1, 5, 2), 5);
  EXPECT_FALSE(MessageElements(Kind::kBarrier, 1, 1, 8));
  EXPECT_FALSE(MessageElements(Kind::kAllReduce, -1, -1, 8));
}

TEST(CollectiveKind, BusFactors) {
  EXPECT_DOUBLE_EQ(*BusFactor(Kind::kAllReduce, 8), 1.75);
  EXPECT_DOUBLE_EQ(*BusFactor(Kind::kAllGather, 8), 0.875);
  EXPECT_DOUBLE_EQ(*BusFactor(Kind::kReduceScatter, 4), 0.75);
  EXPECT_DOUBLE_EQ(*BusFactor(Kind::kAllToAll, 2), 0.5);
  EXPECT_DOUBLE_EQ(*BusFactor(Kind::kBroadcast, -1), 1);
  EXPECT_DOUBLE_EQ(*BusFactor(Kind::kReduce, 8), 1);
  EXPECT_DOUBLE_EQ(*BusFactor(Kind::kAllReduce, 1), 0);
  EXPECT_FALSE(BusFactor(Kind::kAllReduce, -1));
  EXPECT_FALSE(BusFactor(Kind::kUnknown, 8));
}

}  // namespace
}  // namespace hone::analyze
