// SPDX-License-Identifier: Apache-2.0
// ProcessIds: process numbers that stay apart when several ranks share a file. Ranks of different
// machines may have the same pid, and every rank may call its device 0.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <unordered_set>

namespace hone::exporter {

class ProcessIds {
 public:
  // What an earlier rank was given is taken from now on.
  void NextRank() {
    for (const auto& [wanted, given] : of_rank_) taken_.insert(given);
    of_rank_.clear();
  }

  // The number itself while no other rank has it, else a free one above a million. The same answer
  // for the same number of the same rank.
  std::int64_t For(std::int64_t wanted) {
    const auto [found, added] = of_rank_.try_emplace(wanted, wanted);
    if (!added || !taken_.contains(wanted)) return found->second;
    while (taken_.contains(next_)) ++next_;
    return found->second = next_++;
  }

 private:
  std::int64_t next_ = 1'000'000;
  std::unordered_map<std::int64_t, std::int64_t> of_rank_;
  std::unordered_set<std::int64_t> taken_;
};

}  // namespace hone::exporter
