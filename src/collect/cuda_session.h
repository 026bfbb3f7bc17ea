// SPDX-License-Identifier: Apache-2.0
// CudaSession: CUPTI switched on and off. Knows the order of calls that CUPTI wants, which kinds
// and functions are on, and what went wrong; knows nothing of rows.
//
// Not thread-safe: the source holds its lock around every call.
#pragma once

#include <atomic>
#include <cstdint>

#include "collect/cuda_api.h"
#include "collect/cuda_tuning.h"
#include "gpu/cupti.h"

namespace hone::collect {

class CudaSession {
 public:
  CudaSession(gpu::Cupti& cupti, CudaApi& api, const CudaTuning& tuning)
      : cupti_(cupti), api_(api), tuning_(tuning) {}

  // Tells CUPTI our buffers, clock and settings. Again after another tool had it.
  void Register(gpu::BufferRequested requested, gpu::BufferCompleted completed,
                std::uint64_t (*clock)()) noexcept;
  bool registered() const { return registered_; }
  // Another tool comes: we are not registered any more.
  void Forget() noexcept { registered_ = false; }

  // False: kernels cannot be recorded; everything is off again and why() says why.
  bool Enable() noexcept;
  void Disable() noexcept;  // harmless when nothing is on
  bool enabled() const { return enabled_; }

  void Flush(bool forced) noexcept;

  // One sentence about the last refusal, or empty. Holders of CUPTI are named.
  const char* why() const { return why_; }
  // Records are in our ticks (else in CUPTI's nanoseconds).
  bool own_clock() const { return own_clock_.load(std::memory_order_relaxed); }
  // Bit n: what could not be switched on of the smaller things; see kNotes.
  std::uint32_t notes() const { return notes_; }
  enum Note : std::uint32_t {
    kAllRuntimeCalls = 1,  // no way to choose functions: all are recorded, which costs more
    kNoCopies = 2,
    kNoSyncs = 4,
    kNoMemory = 8,
    kNoOverhead = 16,
    kForeignThreadIds = 32,  // calls carry pthread's ids, not the kernel's
  };

 private:
  bool EnableKind(gpu::ActivityKind kind) noexcept;
  void EnableFunctions(std::uint32_t domain, CudaTuning::Api level) noexcept;
  void DisableFunctions(std::uint32_t domain, CudaTuning::Api level) noexcept;
  void Explain(gpu::CuptiResult result) noexcept;
  template <typename Value>
  void Attribute(gpu::ActivityAttribute attribute, Value value) noexcept;

  gpu::Cupti& cupti_;
  CudaApi& api_;
  const CudaTuning& tuning_;
  bool registered_ = false, enabled_ = false;
  std::atomic<bool> own_clock_{false};  // the writer looks, too
  std::uint64_t kinds_ = 0;             // bit: kind is on
  bool functions_[3] = {};              // by domain: single functions are on
  gpu::CuptiResult last_ = gpu::kCuptiOk;
  std::uint32_t notes_ = 0;
  char why_[512] = "";
};

}  // namespace hone::collect
