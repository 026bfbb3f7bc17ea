// SPDX-License-Identifier: Apache-2.0
#include "doctor/busiest_kernel.h"

#include <gtest/gtest.h>

#include <string>

#include "analyze/sketch_test.h"
#include "doctor/look_test.h"

namespace hone::doctor {
namespace {

using analyze::TraceSketch;

struct Shape {
  const char* kernel = "my_scan_kernel<float>";
  double us = 600, beside_us = 400;  // of the kernel, and of another one in every step
  double step_us = 1100;
};

std::optional<BusiestKernel> Busiest(const Shape& shape) {
  TraceSketch sketch;
  for (int s = 0; s < 4; ++s) {
    const double at = 1000 + shape.step_us * s;
    sketch.Annotation("ProfilerStep#" + std::to_string(s + 1), at, at + shape.step_us);
    sketch.Op("mine::scan", at + 5, at + 20).Launch(at + 10, 3 * s + 1);
    sketch.Launch(at + 25, 3 * s + 2);
    sketch.Kernel(at + 20, at + 20 + shape.us, 3 * s + 1, 7, shape.kernel);
    const double next = at + 21 + shape.us;
    sketch.Kernel(next, next + shape.beside_us, 3 * s + 2, 7, "sm90_xmma_gemm_bf16bf16_bf16f32");
    sketch.Call("cudaDeviceSynchronize", at + 40, next + shape.beside_us + 5, 3 * s + 3);
  }
  const trace::Trace trace = sketch.Finish();
  return DiagnoseTrace(trace).busiest_kernel;
}

TEST(BusiestKernel, NamesWhatNoRuleIsAbout) {
  const auto found = Busiest({});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->name, "my_scan_kernel<float>");
  EXPECT_EQ(found->op, "mine::scan");
  EXPECT_NEAR(found->share, 0.6, 0.001);
}

TEST(BusiestKernel, NeedsMuchOfTheDeviceAndOfTheStep) {
  EXPECT_FALSE(Busiest({.us = 390, .beside_us = 610}));
  EXPECT_TRUE(Busiest({.us = 600, .step_us = 2900}));
  EXPECT_FALSE(Busiest({.us = 600, .step_us = 3100}));
}

TEST(BusiestKernel, ProductsAreWhatADeviceIsFor) {
  EXPECT_FALSE(Busiest({.kernel = "nvjet_sm90_tst_192x192_64x3_1x2_h_bz_coopB_NNN"}));
  EXPECT_FALSE(Busiest({.kernel = "cudnn_generated_fort_native_sdpa_sm80_flash_fprop_wmma"}));
}

TEST(BusiestKernel, AFindingThatShortensItSaysMore) {
  EXPECT_TRUE(Busiest({.kernel = "indexing_backward_kernel<float, 4>", .us = 900}));
  EXPECT_FALSE(
      Busiest({.kernel = "indexing_backward_kernel<float, 4>", .us = 1500, .step_us = 2000}));
}

}  // namespace
}  // namespace hone::doctor
