// SPDX-License-Identifier: Apache-2.0
// BareSteps: times the steps that follow a window, when nothing is recorded. What a step takes
// without the recorder is then known, not computed. Pure: fed with step marks and the time.
#pragma once

#include <cstdint>

namespace hone::collect {

class BareSteps {
 public:
  // A window closed whose steps took `recorded_ns` each, by the marks that Step is fed with.
  void Begin(std::uint64_t now_ns, std::uint64_t recorded_ns) noexcept;
  void Step(std::uint64_t now_ns) noexcept;
  // Enough was seen, or there is no use in waiting: the answer waits for this.
  bool Done(std::uint64_t now_ns) const noexcept;
  void End() noexcept { timing_ = false; }

  bool timing() const noexcept { return timing_; }
  std::uint64_t recorded_ns() const noexcept { return recorded_ns_; }
  // What was timed so far; no steps where it is too little to say.
  std::uint32_t steps() const noexcept { return timed() >= kFewest ? timed() : 0; }
  std::uint64_t step_ns() const noexcept { return (last_ns_ - first_ns_) / timed(); }

  // The first ones find the queues of the device as the recorder left them.
  static constexpr std::uint32_t kSettle = 3;
  static constexpr std::uint32_t kFewest = 3, kEnough = 10;
  static constexpr std::uint64_t kLongEnoughNs = 500'000'000;  // with enough steps
  static constexpr std::uint64_t kLongestNs = 2'000'000'000;   // with the fewest
  static constexpr std::uint64_t kGiveUpNs = 4'000'000'000;    // of steps so long nobody waits
  static constexpr std::uint64_t kSilenceNs = 500'000'000;     // and five steps: it has stopped

 private:
  std::uint32_t timed() const noexcept { return marks_ > kSettle ? marks_ - kSettle : 0; }

  bool timing_ = false;
  std::uint64_t recorded_ns_ = 0;
  std::uint64_t begun_ns_ = 0, first_ns_ = 0, last_ns_ = 0;
  std::uint32_t marks_ = 0;
};

}  // namespace hone::collect
