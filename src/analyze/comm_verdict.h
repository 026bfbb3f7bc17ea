// SPDX-License-Identifier: Apache-2.0
// Who keeps the others waiting, and what that costs a step.
#pragma once

#include <cstdint>
#include <span>

#include "analyze/comm.h"
#include "analyze/comm_waits.h"

namespace hone::analyze {

// The members of SkewFacts of the same names.
struct SkewVerdict {
  std::int64_t straggler = -1;
  bool uneven = false;
  LostToWaiting lost;
};

SkewVerdict JudgeWaits(const WaitTally& tally, std::span<const RankComm> ranks);

}  // namespace hone::analyze
