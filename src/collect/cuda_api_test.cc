// SPDX-License-Identifier: Apache-2.0
#include "collect/cuda_api.h"

#include <gtest/gtest.h>

#include <initializer_list>

namespace hone::collect {
namespace {

constexpr std::uint32_t kDriver = gpu::kDriverDomain, kRuntime = gpu::kRuntimeDomain;

TEST(CudaApiTest, NamesAreThoseOfTheSource) {
  EXPECT_EQ(FunctionName(kRuntime, "cudaLaunchKernel_v7000"), "cudaLaunchKernel");
  EXPECT_EQ(FunctionName(kRuntime, "cudaLaunchKernel_ptsz_v7000"), "cudaLaunchKernel");
  EXPECT_EQ(FunctionName(kRuntime, "cudaMemcpy_ptds_v7000"), "cudaMemcpy");
  EXPECT_EQ(FunctionName(kRuntime, "cudaLaunchKernelExC_v11060"), "cudaLaunchKernelExC");
  EXPECT_EQ(FunctionName(kRuntime, "__cudaLaunchKernel_v13000"), "cudaLaunchKernel");
  EXPECT_EQ(FunctionName(kRuntime, "cudaVolume_v2x"), "cudaVolume_v2x");
  // The driver's own versions are part of the name; its entries for per-thread streams are not.
  EXPECT_EQ(FunctionName(kDriver, "cuMemcpyHtoDAsync_v2"), "cuMemcpyHtoDAsync_v2");
  EXPECT_EQ(FunctionName(kDriver, "cuMemcpyHtoDAsync_v2_ptsz"), "cuMemcpyHtoDAsync_v2");
  EXPECT_EQ(FunctionName(kDriver, "cuLaunchKernelEx_ptsz"), "cuLaunchKernelEx");
}

void ExpectUse(CudaUse use, std::uint32_t domain, std::initializer_list<const char*> names) {
  for (const char* name : names) EXPECT_EQ(UseOfFunction(domain, name), use) << name;
}

TEST(CudaApiTest, WhatWorksOrWaitsIsRecordedAndWhatAsksIsNot) {
  ExpectUse(CudaUse::kLaunch, kRuntime,
            {"cudaLaunchKernel", "cudaLaunchKernelExC", "cudaLaunchCooperativeKernel",
             "cudaGraphLaunch"});
  ExpectUse(CudaUse::kLaunch, kDriver, {"cuLaunchKernel", "cuLaunchKernelEx", "cuGraphLaunch"});
  ExpectUse(CudaUse::kCopy, kRuntime,
            {"cudaMemcpyAsync", "cudaMemcpy3DBatchAsync", "cudaMemset2D"});
  ExpectUse(CudaUse::kCopy, kDriver, {"cuMemcpyHtoDAsync_v2", "cuMemsetD8Async"});
  ExpectUse(CudaUse::kSync, kRuntime, {"cudaDeviceSynchronize", "cudaEventSynchronize"});
  ExpectUse(CudaUse::kSync, kDriver, {"cuCtxSynchronize_v2", "cuStreamSynchronize"});
  ExpectUse(CudaUse::kMemory, kRuntime, {"cudaMalloc", "cudaFreeAsync", "cudaHostAlloc"});
  ExpectUse(CudaUse::kMemory, kDriver, {"cuMemAlloc_v2", "cuMemFree_v2", "cuMemMap"});
  ExpectUse(CudaUse::kRare, kDriver, {"cuModuleLoadData", "cuLibraryLoadData"});
  ExpectUse(CudaUse::kEvent, kRuntime, {"cudaEventRecordWithFlags", "cudaStreamWaitEvent"});
  ExpectUse(CudaUse::kNone, kRuntime,
            {"cudaGetDevice", "cudaGetLastError", "cudaEventQuery", "cudaStreamIsCapturing",
             "cudaGraphAddMemcpyNode", "cudaMemGetInfo", "cudaFuncGetAttributes"});
  ExpectUse(CudaUse::kNone, kDriver,
            {"cuCtxGetCurrent", "cuMemSetAccess", "cuMemGetInfo_v2", "cuGraphAddMemcpyNode",
             "cudaLaunchKernel"});
}

// As CUPTI answers: names by number, then an error.
gpu::CuptiResult ThreeNames(std::uint32_t domain, std::uint32_t cbid, const char** name) {
  static const char* const kNames[] = {"", "cudaGetDevice_v3020", "cudaLaunchKernel_v7000",
                                       "cudaDeviceSynchronize_v3020", "cudaEventRecord_v3020"};
  if (domain != kRuntime || cbid > 4) return gpu::kCuptiInvalidParameter;
  *name = kNames[cbid];
  return gpu::kCuptiOk;
}

TEST(CudaApiTest, LevelsChooseAmongTheFunctionsOfThisLibrary) {
  gpu::Cupti cupti;
  cupti.callback_name = ThreeNames;
  static CudaApi api;  // its tables are large
  api.Load(cupti);
  EXPECT_EQ(api.count(kRuntime), 4u);
  EXPECT_EQ(api.count(kDriver), 0u);
  using Level = CudaTuning::Api;
  const auto wanted = [&](Level level, bool events) {
    std::string numbers;
    for (std::uint32_t cbid = 1; cbid <= 4; ++cbid) {
      if (api.Wanted(kRuntime, cbid, level, events)) numbers += std::to_string(cbid);
    }
    return numbers;
  };
  EXPECT_EQ(wanted(Level::kNone, true), "");
  EXPECT_EQ(wanted(Level::kLaunches, false), "2");
  EXPECT_EQ(wanted(Level::kSome, false), "23");
  EXPECT_EQ(wanted(Level::kSome, true), "234");
  EXPECT_EQ(wanted(Level::kAll, false), "1234");
}

}  // namespace
}  // namespace hone::collect
