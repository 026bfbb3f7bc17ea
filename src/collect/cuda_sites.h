// SPDX-License-Identifier: Apache-2.0
// CudaSites: the line of Python that a waiting call of CUDA came from, where no operator is around
// it to tell (torch.cuda.synchronize(), an event's or a stream's synchronize, another library's).
//
// CUPTI asks our clock for the times of a call on the thread that makes it, at its beginning and
// end, and writes down the answer as it is. So the clock looks where Python stands when time has
// passed since it was last asked on this thread, outside of operators; and the record of a call
// whose end is exactly such an answer came from there. Needs no subscriber of CUPTI's, of which
// there is one, and no function of CUDA's that is stood in the way of.
#pragma once

#include <cstdint>

namespace hone::collect {

// For cuptiActivityRegisterTimestampCallback. Any thread. A few nanoseconds inside operators and
// soon after the last call, about 0.1 us more otherwise.
std::uint64_t ClockWithSites() noexcept;

// The writer's.
class CudaSites {
 public:
  // Takes what the clock noted; between taking a buffer of records and decoding it.
  void Drain() noexcept;
  // The frame of the call of this thread that ended then; 0: not known.
  std::uint32_t FrameOf(std::uint32_t tid, std::uint64_t end) const noexcept;
  static void Forked() noexcept;

 private:
  struct Site {
    std::uint64_t time;
    std::uint32_t tid, frame;
  };
  // The latest; records follow within seconds (tuning flush). In sets of a few, of which the oldest
  // makes room: with one slot for each hash, one in sixty runs of twenty waits lost a line.
  static constexpr std::uint32_t kSets = 1u << 12, kWays = 4;
  static std::uint32_t SetOf(std::uint64_t time) noexcept;
  Site* slots_ = nullptr;
};

}  // namespace hone::collect
