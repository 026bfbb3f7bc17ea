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
  void Steps(int count, std::uint32_t blocks, double busy = 0.99) {
    for (int i = 0; i < count; ++i) Step(i + 1, i * kStep, blocks, busy);
  }

 private:
  std::int64_t correlation_ = 0;
};

}  // namespace hone::doctor
