// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tune/campaign.h"

namespace hone::tune {
namespace {

// Dropped candidates this much slower are not tried again: no change around them makes up for it.
constexpr double kFarSlower = 0.9;
constexpr int kMostRetries = 2;  // rounds over the dropped ones

}  // namespace

// What was dropped while something else stood may help now: a faster device waits for its loader.
void Campaign::Retry() {
  for (int round = 0; round < kMostRetries; ++round) {
    const std::string stands = KeyOf(incumbent_);
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const Row& row = rows_[i];
      const bool dropped = row.fate == Row::Fate::kNoGain || row.fate == Row::Fate::kSlower;
      const bool worth = dropped && row.on_top && *row.on_top > kFarSlower;
      const bool waited = row.fate == Row::Fate::kNotTried && wanted_[i] && tried_on_[i].empty();
      if (candidates_[i].risk == Risk::kOptimization) continue;
      const bool waiting = waiting_[i] && dropped;
      if (tried_on_[i] == stands && !waiting) continue;
      // Another of its group stands: that was decided.
      if (With(i).size() <= incumbent_.size() && !waiting) continue;
      if (worth || (waited && !incumbent_.empty())) places.push_back(i);
    }
    std::stable_sort(places.begin(), places.end(), [&](std::size_t a, std::size_t b) {
      return rows_[a].on_top.value_or(0) > rows_[b].on_top.value_or(0);
    });
    for (const std::size_t place : places) {
      if (With(place).size() > incumbent_.size() || waiting_[place]) Try(place, "retry");
    }
    if (KeyOf(incumbent_) == stands) return;
  }
}

}  // namespace hone::tune
