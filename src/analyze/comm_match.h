// SPDX-License-Identifier: Apache-2.0
// Which collective of one rank is which of another.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "analyze/comm.h"

namespace hone::analyze {

// The collectives that all given ranks of one process group have in common.
struct MatchedGroup {
  std::string name;
  std::vector<std::size_t> members;  // indices into the ranks, ascending
  std::int64_t size = -1;            // ranks in the group as recorded, given here or not
  // runs[m][k]: the k-th common collective on members[m]; the same k is the same collective.
  std::vector<std::vector<const CollectiveRun*>> runs;
  bool synchronizing(std::size_t k) const;  // no rank can leave it before every rank has entered
};

// Sends and receives, which have no counterpart of their own kind.
bool PointToPoint(const CollectiveRun& run);

struct Matching {
  std::vector<MatchedGroup> groups;
  std::uint64_t matched = 0, unmatched = 0;
  std::uint64_t point_to_point = 0;  // runs left out: a send has no counterpart of its own kind
  std::string doubt;                 // why some groups were left out; empty: none were
};

// By recorded sequence number where every run of a group has one on every rank; else by order of
// launch. Where ranks recorded different numbers of collectives, their order is shifted so that
// kinds and sizes agree most, and, if several shifts agree, ends lie closest.
Matching MatchCollectives(std::span<const RankComm> ranks);

}  // namespace hone::analyze
