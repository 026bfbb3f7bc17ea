// SPDX-License-Identifier: Apache-2.0
// NvtxRanges: ranges that begin and end by number (nvtxRangeStart, nvtxRangeEnd), anywhere and on
// any thread. They do not nest, so they are no slices of a thread; rows of kHost with an end_tid.
#pragma once

#include <cstdint>

#include "collect/source.h"
#include "collect/spin_lock.h"

namespace hone::collect {

class NvtxRanges final : public Source {
 public:
  // 0: too many are open (counted).
  std::uint64_t Start(std::uint32_t name, std::uint32_t tid) noexcept;
  void End(std::uint64_t id, std::uint32_t tid) noexcept;

  const char* name() const noexcept override { return "nvtx"; }
  void Open() noexcept override {}
  void Close() noexcept override {}
  void Drain(Output& output, bool last) noexcept override;
  void Forked() noexcept override;

 private:
  struct Range {
    std::uint64_t id;          // 0: free
    std::uint64_t start, end;  // end 0: open
    std::uint32_t name, tid, end_tid;
  };
  // Open ones, and those that ended since the last round of 100 ms. A program that leaks ranges
  // stops being seen here after so many.
  static constexpr std::uint32_t kMost = 1024;
  static Range ranges_[kMost];  // outside the source: no room in the library's file
  SpinLock lock_;
  std::uint32_t top_ = 0;  // no range in use at or above
  std::uint64_t next_id_ = 1, lost_ = 0;
};

}  // namespace hone::collect
