// SPDX-License-Identifier: Apache-2.0
// CudaRecords: CUPTI's records become rows. The writer's only.
#pragma once

#include <cstddef>
#include <cstdint>

#include "collect/cuda_api.h"
#include "collect/cuda_sites.h"
#include "collect/source.h"
#include "gpu/cupti.h"

namespace hone::collect {

class CudaRecords {
 public:
  CudaRecords(const gpu::Cupti& cupti, CudaApi& api, const CudaSites& sites)
      : cupti_(cupti), api_(api), sites_(sites) {}

  // Which API calls to keep: CUPTI may have had to record them all.
  void Keep(CudaTuning::Api runtime, CudaTuning::Api driver, bool events) noexcept {
    runtime_ = runtime, driver_ = driver, events_ = events;
  }
  // Records tell time by CUPTI's clock (nanoseconds), not by ours: at `theirs` it was `ours`.
  void Convert(std::uint64_t theirs, std::uint64_t ours) noexcept {
    converts_ = true, theirs_ = theirs, ours_ = ours;
  }

  // CUPTI's 32 bits, counted on.
  std::int64_t Correlation(std::uint32_t id) noexcept;

  // All records of one buffer. Linear.
  void Decode(std::uint8_t* data, std::size_t valid, Output& output) noexcept;
  // Records of a buffer that is to be thrown away.
  std::size_t Count(std::uint8_t* data, std::size_t valid) const noexcept;

  // After the end of a window: work that was launched and had not run has no times, and is no loss.
  void Closed() noexcept { closed_ = true; }
  // All of it was decoded: what starts after these ticks is in no window.
  void Ended(std::uint64_t ticks) noexcept { ended_ticks_ = ticks; }
  void Opened() noexcept { closed_ = false, ended_ticks_ = UINT64_MAX; }

  // Since they were last asked for.
  struct Tally {
    std::uint64_t records = 0;  // decoded
    std::uint64_t untimed = 0;  // device work whose times CUPTI did not get
    std::uint64_t unknown = 0;  // of kinds nobody asked for
    std::uint64_t cut = 0;      // buffers that end inside a record
  };
  Tally TakeTally() noexcept;

 private:
  void Row(const std::uint8_t* record, std::size_t bytes, Output& output) noexcept;
  void Kernel(const std::uint8_t* record, std::size_t bytes, Output& output) noexcept;
  void Copy(const std::uint8_t* record, std::size_t bytes, Output& output) noexcept;
  void PeerCopy(const std::uint8_t* record, std::size_t bytes, Output& output) noexcept;
  void Set(const std::uint8_t* record, std::size_t bytes, Output& output) noexcept;
  void Api(const std::uint8_t* record, std::size_t bytes, std::uint32_t domain,
           Output& output) noexcept;
  void Sync(const std::uint8_t* record, std::size_t bytes, Output& output) noexcept;
  void Overhead(const std::uint8_t* record, std::size_t bytes, Output& output) noexcept;
  void Memory(const std::uint8_t* record, std::size_t bytes, Output& output) noexcept;
  void Graph(const std::uint8_t* record, std::size_t bytes, Output& output) noexcept;

  std::uint64_t Time(std::uint64_t time) const noexcept;
  struct Times {
    std::uint64_t start = 0, duration = 0;
  };
  // When device work ran. Work without times is counted and has zeros; false when it is not to be
  // written.
  bool ReadTimes(std::uint64_t start, std::uint64_t end, Times& times) noexcept;
  bool closed_ = false;
  std::uint64_t ended_ticks_ = UINT64_MAX;  // not ended

  const gpu::Cupti& cupti_;
  CudaApi& api_;
  const CudaSites& sites_;
  CudaTuning::Api runtime_ = CudaTuning::Api::kAll, driver_ = CudaTuning::Api::kAll;
  bool events_ = true, converts_ = false;
  std::uint64_t theirs_ = 0, ours_ = 0;
  std::int64_t last_correlation_ = -1;
  Tally tally_;
};

}  // namespace hone::collect
