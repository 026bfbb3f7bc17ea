// SPDX-License-Identifier: Apache-2.0
#include "collect/cuda_tuning.h"

#include <gtest/gtest.h>

namespace hone::collect {
namespace {

TEST(CudaTuningTest, PairsOverTheDefaults) {
  unsigned unknown = 7;
  const CudaTuning plain = ParseCudaTuning(nullptr, unknown);
  EXPECT_EQ(unknown, 0u);
  EXPECT_FALSE(plain.syncs);
  const CudaTuning tuned =
      ParseCudaTuning("buffer=262144,,perthread=0,runtime=launch,driver=none,sync=1", unknown);
  EXPECT_EQ(unknown, 0u);
  EXPECT_EQ(tuned.buffer_bytes, 262144u);
  EXPECT_EQ(tuned.per_thread, 0);
  EXPECT_EQ(tuned.runtime_api, CudaTuning::Api::kLaunches);
  EXPECT_EQ(tuned.driver_api, CudaTuning::Api::kNone);
  EXPECT_TRUE(tuned.syncs);
  EXPECT_EQ(tuned.ready, plain.ready);
}

TEST(CudaTuningTest, WhatIsNotUnderstoodIsCountedAndNotObeyed) {
  unsigned unknown = 0;
  const CudaTuning plain = ParseCudaTuning("", unknown);
  const CudaTuning tuned =
      ParseCudaTuning("buffer=12,buffer=99999999999,colour=red,sync,sync=2,flush=1x", unknown);
  EXPECT_EQ(unknown, 6u);
  EXPECT_EQ(tuned.buffer_bytes, plain.buffer_bytes);
  EXPECT_EQ(tuned.syncs, plain.syncs);
  EXPECT_EQ(tuned.flush_ms, plain.flush_ms);
}

}  // namespace
}  // namespace hone::collect
