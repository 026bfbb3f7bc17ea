// SPDX-License-Identifier: Apache-2.0
// The CUDA source: kernels, copies, sets, synchronization, allocations and the calls that cause
// them, by CUPTI's activity records. No subscriber is held, so that the program's own profiler can
// start; it must be let in by CudaYield, since CUPTI has one set of buffers for all.
//
// Starts when the driver loads this library (CUDA_INJECTION64_PATH) and calls InitializeInjection,
// inside the program's first CUDA call.
#pragma once

namespace hone::collect {

// Another tool ("torch.profiler") is about to use CUPTI: what was recorded is flushed, everything
// is switched off, and the gap is marked. Nests. Does nothing in a process without CUDA.
void CudaYield(const char* who) noexcept;
void CudaResume() noexcept;

}  // namespace hone::collect

// The driver's door. 1: loaded.
extern "C" __attribute__((visibility("default"))) int InitializeInjection(void) noexcept;
