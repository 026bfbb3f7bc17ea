// SPDX-License-Identifier: Apache-2.0
// GpuWatch: clocks, heat, throttling and energy of the GPUs while a run is running, from outside.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "bench/result.h"

namespace hone::bench {

class GpuWatch {
 public:
  GpuWatch();  // finds NVML, or stays empty
  ~GpuWatch();
  GpuWatch(const GpuWatch&) = delete;
  GpuWatch& operator=(const GpuWatch&) = delete;

  void Begin();   // right before a run
  void Sample();  // while it runs; about 0.1 ms a GPU
  // Right after it. Of the GPU that was busiest; energy of all that were busy at any sample.
  std::optional<GpuLog> End();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hone::bench
