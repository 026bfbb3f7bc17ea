// SPDX-License-Identifier: Apache-2.0
// How long the ranks of a job wait for each other in the collectives that they have in common, on
// clocks that are set right where they disagree. Linear in the collectives, but for a sort.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analyze/comm.h"
#include "analyze/comm_match.h"

namespace hone::analyze {

struct RankClocks {
  std::vector<Nanos> ahead;  // by rank: its clock minus the reference's
  bool apart = false;
  Nanos largest = 0;
  std::size_t largest_rank = 0;
};

RankClocks CompareClocks(const Matching& matching, std::span<const RankComm> ranks);

// What the collectives in common add up to that each of their ranks began inside of its steady
// steps; where there are none of these, all of them.
struct WaitTally {
  std::vector<Nanos> skews;          // by collective that counts
  std::vector<RankSkew> ranks;       // by rank
  std::vector<std::uint64_t> taken;  // by rank: of these, those that it takes part in
  // By rank: exposed waiting of all members in the collectives that it takes part in, and in those
  // of them in which it comes last.
  std::vector<double> around, caused;
  double waited = 0, waited_skew = 0;  // of all, and the same times the skew
  double exchanged = 0;                // of all, in all-to-all exchanges
};

WaitTally MeasureWaits(const Matching& matching, std::span<const RankComm> ranks,
                       const RankClocks& clocks);

}  // namespace hone::analyze
