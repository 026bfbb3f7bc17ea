// SPDX-License-Identifier: Apache-2.0
// Small traces for tests of rules: marked steps in which three kernels keep a device busy.
#pragma once

#include <string>

#include "analyze/fixture_test.h"
#include "doctor/look_test.h"

namespace hone::doctor {

class DeviceSteps : public analyze::TraceFixture {
 public:
  static constexpr Nanos kStep = 10 * kMillisecond;
  static constexpr const char* kGemm = "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_cublas";
  static constexpr const char* kAdd = "void at::native::vectorized_elementwise_kernel<4, Add>";

  static constexpr const char* kFusedAdam =
      "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<FusedAdamMathFunctor>";

  DeviceSteps() {
    trace::Device& device = builder.trace().devices[builder.DeviceFor(0)];
    device.name = "NVIDIA H200";
    device.sm_count = 132;
    device.memory_bytes = Bytes{16} << 30;
  }

  std::uint32_t Grid(std::uint32_t blocks) {
    trace::LaunchConfig launch;
    launch.grid[0] = blocks;
    launch.grid[1] = launch.grid[2] = launch.block[1] = launch.block[2] = 1;
    launch.block[0] = 256;
    return builder.Launch(launch);
  }

  // Kernels fill `busy` of the step; the host launches them at its beginning and waits for the end.
  void Step(int number, Nanos start, std::uint32_t blocks, double busy = 0.99,
            Nanos length = kStep) {
    Annotation(start, length, ("ProfilerStep#" + std::to_string(number)).c_str());
    Annotation(start + 100'000, 10'000, "Optimizer.step#SGD.step");
    const auto each = static_cast<Nanos>(busy * static_cast<double>(length) / 3);
    for (int k = 0; k < 3; ++k) {
      const Nanos at = start + 2'000 + 10'000 * k;
      Op(at, 8'000, k == 1 ? "aten::add" : "aten::mm");
      Api(at + 1'000, 5'000, ++correlation_);
      Kernel(start + 8'000 + k * (each + 1'000), each, k == 1 ? kAdd : kGemm, correlation_,
             blocks == 0 ? 0 : Grid(blocks));
    }
    const Nanos wait = start + 150'000;
    Api(wait, start + 8'000 + 3 * (each + 1'000) - wait + 5'000, ++correlation_, 1,
        "cudaDeviceSynchronize");
  }
  // Full of work, so much of it an optimizer's.
  void StepsOfAnOptimizer(int count, double share) {
    for (int i = 0; i < count; ++i) {
      const Nanos start = i * kStep;
      Annotation(start, kStep, ("ProfilerStep#" + std::to_string(i + 1)).c_str());
      Op(start + 2'000, 8'000, "aten::mm");
      Api(start + 3'000, 5'000, ++correlation_);
      const auto own = static_cast<Nanos>(share * 0.98 * static_cast<double>(kStep));
      const Nanos product = static_cast<Nanos>(0.98 * static_cast<double>(kStep)) - own;
      Kernel(start + 10'000, product, kGemm, correlation_, Grid(132 * 8));
      Annotation(start + 20'000, 30'000, "Optimizer.step#AdamW.step");
      Op(start + 22'000, 20'000, "aten::_fused_adamw_");
      Api(start + 24'000, 5'000, ++correlation_);
      Kernel(start + 11'000 + product, own, kFusedAdam, correlation_, Grid(132 * 8));
      Api(start + 60'000, kStep - 100'000, ++correlation_, 1, "cudaDeviceSynchronize");
    }
  }
  void Steps(int count, std::uint32_t blocks, double busy = 0.99) {
    for (int i = 0; i < count; ++i) Step(i + 1, i * kStep, blocks, busy);
  }

 private:
  std::int64_t correlation_ = 0;
};

}  // namespace hone::doctor
