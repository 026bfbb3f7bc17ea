// SPDX-License-Identifier: Apache-2.0
#include "collect/nvtx_ranges.h"

#include <mutex>

#include "collect/clock.h"

namespace hone::collect {

NvtxRanges::Range NvtxRanges::ranges_[kMost];

// An id holds its place, so that an end finds its beginning at once.
std::uint64_t NvtxRanges::Start(std::uint32_t name, std::uint32_t tid) noexcept {
  const std::lock_guard<SpinLock> guard(lock_);
  std::uint32_t at = 0;
  while (at < top_ && ranges_[at].id != 0) ++at;
  if (at == kMost) {
    ++lost_;
    return 0;
  }
  if (at == top_) ++top_;
  const std::uint64_t id = next_id_++ * kMost + at;
  ranges_[at] = {id, Ticks(), 0, name, tid, 0};
  return id;
}

void NvtxRanges::End(std::uint64_t id, std::uint32_t tid) noexcept {
  const std::uint64_t end = Ticks();
  if (id == 0) return;
  Range& range = ranges_[id % kMost];
  const std::lock_guard<SpinLock> guard(lock_);
  if (range.id != id || range.end != 0) return;
  range.end_tid = tid;
  if (Recording()) {
    range.end = end;
  } else {
    range.id = 0;
  }
}

void NvtxRanges::Drain(Output& output, bool) noexcept {
  std::uint64_t lost = 0;
  for (std::uint32_t i = 0; i < kMost; ++i) {
    Range range{};
    {
      const std::lock_guard<SpinLock> guard(lock_);
      if (i >= top_) {
        lost = lost_;
        lost_ = 0;
        break;
      }
      if (ranges_[i].id == 0 || ranges_[i].end == 0) continue;
      range = ranges_[i];
      ranges_[i].id = 0;
      while (top_ > 0 && ranges_[top_ - 1].id == 0) --top_;
    }
    output.Row(wire::Table::kHost, range.tid, range.start, range.end - range.start, range.name,
               wire::HostKind::kRange, 0, -1, 0, 0, range.end_tid);
  }
  if (lost > 0) output.Loss("nvtx ranges", lost, "more than 1,024 were open at the same time");
}

void NvtxRanges::Forked() noexcept {
  lock_.Reset();
  for (std::uint32_t i = 0; i < top_; ++i) ranges_[i].id = 0;
  top_ = 0;
  lost_ = 0;
}

}  // namespace hone::collect
