// SPDX-License-Identifier: Apache-2.0
// CudaApi: which of CUDA's functions are recorded, and what they are called. CUPTI numbers them
// ("callback ids"); numbers are never reused, new ones are added with every release, so the tables
// are asked of the library at hand and judged by name.
#pragma once

#include <cstdint>
#include <string_view>

#include "collect/cuda_tuning.h"
#include "gpu/cupti.h"

namespace hone::collect {

enum class CudaUse : std::uint8_t {
  kNone,    // asks something, or is over in no time: recording it costs more than it
  kLaunch,  // kernels, graphs
  kCopy,    // copies, sets, prefetches
  kSync,
  kMemory,  // allocates or frees
  kRare,    // loads code, captures or instantiates a graph: few, and slow
  kEvent,   // records an event, waits for one on a stream
};

CudaUse UseOfFunction(std::uint32_t domain, std::string_view name) noexcept;

// "cudaLaunchKernel_ptsz_v7000" -> "cudaLaunchKernel", "cuMemcpyHtoD_v2_ptds" -> "cuMemcpyHtoD_v2":
// the function as the program's source and Kineto name it.
std::string_view FunctionName(std::uint32_t domain, std::string_view callback_name) noexcept;

class CudaApi {
 public:
  static constexpr std::uint32_t kMost = 2048;  // callback ids of a domain (13.0 has 807 and 523)

  // Asks the library for all names; once. About 1,300 calls, well under a millisecond.
  void Load(const gpu::Cupti& cupti) noexcept;

  bool Wanted(std::uint32_t domain, std::uint32_t cbid, CudaTuning::Api level,
              bool events) const noexcept;
  CudaUse UseOf(std::uint32_t domain, std::uint32_t cbid) const noexcept {
    return cbid < kMost ? functions_[Index(domain)][cbid].use : CudaUse::kNone;
  }
  // Id of the function's name. The writer's.
  std::uint32_t NameOf(std::uint32_t domain, std::uint32_t cbid) noexcept;
  std::uint32_t count(std::uint32_t domain) const { return counts_[Index(domain)]; }

 private:
  static std::size_t Index(std::uint32_t domain) { return domain == gpu::kRuntimeDomain ? 1 : 0; }
  struct Function {
    const char* name = nullptr;  // the library's
    std::uint32_t id = 0;        // interned at first use
    CudaUse use = CudaUse::kNone;
  };
  std::uint32_t counts_[2] = {0, 0};
  Function functions_[2][kMost];
};

}  // namespace hone::collect
