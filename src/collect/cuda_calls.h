// SPDX-License-Identifier: Apache-2.0
// CudaCalls: calls of CUDA timed by callbacks of ours on the program's threads, instead of by
// CUPTI's records. Costs CUPTI's one subscriber while a window is open, which the program's own
// profiler may want: only by HONE_CUPTI_TUNE=calls=1. Calls that wait get their line of Python.
#pragma once

#include <cstdint>

#include "collect/cuda_api.h"
#include "collect/cuda_tuning.h"
#include "collect/source.h"
#include "gpu/cupti.h"

namespace hone::collect {

class CudaRecords;

class CudaCalls {
 public:
  // False: someone has the subscriber, or this CUPTI lacks a function.
  bool Start(const gpu::Cupti& cupti, const CudaApi& api, const CudaTuning& tuning) noexcept;
  void Stop(const gpu::Cupti& cupti) noexcept;
  bool started() const { return subscriber_ != nullptr; }

  // The writer's.
  static void Drain(Output& output, CudaApi& api, CudaRecords& records) noexcept;
  static void Forked() noexcept;

 private:
  void* subscriber_ = nullptr;
};

}  // namespace hone::collect
