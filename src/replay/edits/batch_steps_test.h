// SPDX-License-Identifier: Apache-2.0
// Small traces for tests of larger batches: steps of kernels with grids on a device of 132
// multiprocessors, whose host launches them at once and waits for the last.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "analyze/facts.h"
#include "analyze/fixture_test.h"
#include "replay/whatif.h"

namespace hone::replay {

inline constexpr const char* kGemm = "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_cublas";
inline constexpr const char* kAdd = "void at::native::vectorized_elementwise_kernel<4, Add>";

struct BatchKernel {
  const char* name = kGemm;
  std::uint32_t blocks = 0;  // 0: not recorded
  Nanos ns = 100'000;
  const char* op = "aten::mm";
  const char* dims = nullptr;  // null: without shapes
  const char* types = R"(["c10::BFloat16", "c10::BFloat16"])";
  const char* inside = nullptr;  // an operator or, with "Optimizer.", a mark around it
  bool backward = false;         // on a thread of its own, inside an operator of autograd
  std::uint32_t threads = 256;
  const char* concrete = "";
  std::int64_t number = -1;  // of its autograd node in a step; backward ones are of node 1
};

class BatchSteps : public analyze::TraceFixture {
 public:
  static constexpr Nanos kStep = 10 * kMillisecond;

  BatchSteps() {
    trace::Device& device = builder.trace().devices[builder.DeviceFor(0)];
    device.name = "NVIDIA H200";
    device.sm_count = 132;
    device.max_threads_per_sm = 2048;
    device.registers_per_sm = 65'536;
    device.memory_bytes = Bytes{16} << 30;
  }

  // `shapes_in`: the step that has them, as some recorders do it; 0: every step.
  BatchSteps& Steps(const std::vector<BatchKernel>& kernels, int shapes_in = 0) {
    for (int s = 0; s < 4; ++s) Step(s, kernels, shapes_in == 0 || shapes_in == s + 1);
    return *this;
  }

 private:
  // Every step makes its nodes anew.
  static std::int64_t NodeOf(std::int64_t node, int step) {
    return node < 0 ? -1 : node + 100 * step;
  }

  void Step(int number, const std::vector<BatchKernel>& kernels, bool shapes) {
    const Nanos start = number * kStep;
    Annotation(start, kStep, ("ProfilerStep#" + std::to_string(number + 1)).c_str());
    Nanos at = start + 1'000, device = at + 10'000;
    for (const BatchKernel& kernel : kernels) {
      const int thread = kernel.backward ? 2 : 1;
      if (kernel.backward) {
        Op(at, 9'000, "autograd::engine::evaluate_function: MmBackward0", {}, NodeOf(1, number),
           thread);
      }
      if (kernel.inside != nullptr && std::string(kernel.inside).starts_with("Optimizer.")) {
        Annotation(at + 500, 8'000, kernel.inside);
      } else if (kernel.inside != nullptr) {
        Op(at + 500, 8'000, kernel.inside, {}, -1, thread);
      }
      trace::OpDetail detail;
      if (shapes && kernel.dims != nullptr) {
        detail.dims = builder.Intern(kernel.dims);
        detail.types = builder.Intern(kernel.types);
        detail.concrete = builder.Intern(kernel.concrete);
      }
      Op(at + 1'000, 7'000, kernel.op, detail, NodeOf(kernel.number, number), thread);
      Api(at + 2'000, 5'000, ++correlation_, thread);
      Kernel(device, kernel.ns, kernel.name, correlation_, Grid(kernel));
      device += kernel.ns + 1'000;
      at += 10'000;
    }
    Api(at, std::max<Nanos>(device - at, 0) + 5'000, ++correlation_, 1, "cudaDeviceSynchronize");
  }

  std::uint32_t Grid(const BatchKernel& kernel) {
    if (kernel.blocks == 0) return 0;
    trace::LaunchConfig launch;
    launch.grid[0] = kernel.blocks;
    launch.grid[1] = launch.grid[2] = launch.block[1] = launch.block[2] = 1;
    launch.block[0] = kernel.threads;
    launch.registers_per_thread = 32;
    return builder.Launch(launch);
  }

  std::int64_t correlation_ = 0;
};

// A finished trace with its model.
class Batched {
 public:
  explicit Batched(BatchSteps&& steps)
      : trace_(steps.Finish()),
        facts_(analyze::Analyze(trace_)),
        model_(Model::Build(trace_, facts_)) {}

  const Model& model() const { return **model_; }
  // Of kernel `index` of step `step`, from 0.
  TaskId Task(std::size_t index, std::size_t step = 1) const {
    const std::size_t each = trace_.device.size() / 4;
    return model().graph().of_device[step * each + index];
  }

 private:
  const trace::Trace trace_;
  const analyze::Facts facts_;
  const Known<std::unique_ptr<Model>> model_;
};

}  // namespace hone::replay
