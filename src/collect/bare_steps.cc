// SPDX-License-Identifier: Apache-2.0
#include "collect/bare_steps.h"

namespace hone::collect {

void BareSteps::Begin(std::uint64_t now_ns, std::uint64_t recorded_ns) noexcept {
  *this = {};
  timing_ = true;
  recorded_ns_ = recorded_ns;
  begun_ns_ = last_ns_ = now_ns;
}

void BareSteps::Step(std::uint64_t now_ns) noexcept {
  if (!timing_) return;
  ++marks_;
  if (marks_ == kSettle) first_ns_ = now_ns;
  last_ns_ = now_ns;
}

bool BareSteps::Done(std::uint64_t now_ns) const noexcept {
  const std::uint64_t lasted = timed() > 0 ? last_ns_ - first_ns_ : 0;
  if (timed() >= kEnough && lasted >= kLongEnoughNs) return true;
  if (timed() >= kFewest && lasted >= kLongestNs) return true;
  return now_ns - begun_ns_ >= kGiveUpNs || now_ns - last_ns_ >= kSilenceNs + 5 * recorded_ns_;
}

}  // namespace hone::collect
