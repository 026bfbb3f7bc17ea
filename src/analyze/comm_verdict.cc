// SPDX-License-Identifier: Apache-2.0
#include "analyze/comm_verdict.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "analyze/grouping.h"

namespace hone::analyze {
namespace {

// Thresholds of the straggler verdict, ours. All weigh by exposed waiting: of several collectives
// in a row only the first finds the late rank late, and a wait beside compute costs nothing. Chance
// alone makes one of two ranks last for half of the waiting, so "most" must lie clearly above that;
// a real straggler hardly waits at all while all others wait for it; and kernels of one collective
// start tens of microseconds apart on a healthy machine, because hosts launch them independently:
// that little counts only where it adds up to a good part of the step.
constexpr double kLastShare = 2.0 / 3;
constexpr double kWaitShare = 0.5;                 // of the median wait of the other ranks
constexpr Nanos kHealthySkew = 50 * kMicrosecond;  // mean over exposed waiting
constexpr double kAddsUp = 0.05;                   // of the step
constexpr double kWorthNaming = 0.01;              // of the step: once in a while is no straggler

// Of a rank that waits for `late`: its exposed waiting at least. Transfers that stand exposed
// behind a wait were pushed there by it; the late rank's own show what would be exposed without. No
// more than it waited at all.
double LostOn(const RankSkew& rank, const RankSkew& late) {
  const double shown = rank.standing_step_ns - late.standing_step_ns;
  return std::max(rank.exposed_step_ns, std::min(shown, rank.wait_step_ns));
}

LostToWaiting LostToOne(const std::vector<const RankSkew*>& others, const RankSkew& late) {
  std::vector<double> lost_on;
  double exposed = std::numeric_limits<double>::max();
  for (const RankSkew* rank : others) {
    lost_on.push_back(LostOn(*rank, late));
    exposed = std::min(exposed, rank->exposed_step_ns);
  }
  std::sort(lost_on.begin(), lost_on.end());
  // Once it keeps up, the slowest of the others sets the pace: that is the one that waits least.
  // Ranks of equal speed still wait for each other a little, as it does now.
  LostToWaiting lost;
  lost.likely_ns = lost_on.front();
  lost.most_ns = lost_on[lost_on.size() / 2];
  lost.least_ns = std::max(0.0, exposed - late.exposed_step_ns);
  return lost;
}

// Work that is exchanged does not go away: what one rank has less of the others have more of.
LostToWaiting SharedOut(const LostToWaiting& lost, std::size_t ranks) {
  const double left = 1 - 1 / static_cast<double>(ranks);
  return {lost.least_ns * left, lost.likely_ns * left, lost.most_ns};
}

// Everybody would wait for nobody if each step's work were shared out evenly: the mean.
LostToWaiting LostToTurns(const std::vector<double>& waits) {
  LostToWaiting lost;
  for (const double wait : waits) {
    lost.likely_ns += wait / static_cast<double>(waits.size());
    lost.most_ns = std::max(lost.most_ns, wait);
  }
  lost.least_ns = lost.likely_ns / 2;
  return lost;
}

}  // namespace

SkewVerdict JudgeWaits(const WaitTally& tally, std::span<const RankComm> ranks) {
  SkewVerdict verdict;
  std::vector<std::size_t> taking;
  Nanos step = 0;
  for (std::size_t r = 0; r < tally.ranks.size(); ++r) {
    if (tally.taken[r] > 0) taking.push_back(r);
    step = std::max(step, ranks[r].median_step_ns);
  }
  if (taking.size() < 2 || tally.waited <= 0) return verdict;
  const std::size_t late =
      *std::min_element(taking.begin(), taking.end(), [&](std::size_t a, std::size_t b) {
        return tally.ranks[a].exposed_ns < tally.ranks[b].exposed_ns;
      });
  std::vector<Nanos> others;
  std::vector<double> all;
  std::vector<const RankSkew*> waiting;
  for (const std::size_t r : taking) {
    all.push_back(tally.ranks[r].exposed_step_ns);
    if (r == late) continue;
    others.push_back(tally.ranks[r].exposed_ns);
    waiting.push_back(&tally.ranks[r]);
  }
  LostToWaiting one = LostToOne(waiting, tally.ranks[late]);
  // Experts and the like: the step is shortest where all ranks have as much to do.
  if (tally.exchanged > tally.waited / 2) one = SharedOut(one, taking.size());
  const double adds_up = kAddsUp * static_cast<double>(step);
  const double least = kWorthNaming * static_cast<double>(step);
  const bool far = tally.waited_skew >= static_cast<double>(kHealthySkew) * tally.waited;
  const auto typical = static_cast<double>(Percentile(others, 0.5));
  if (tally.caused[late] >= kLastShare * tally.around[late] &&
      static_cast<double>(tally.ranks[late].exposed_ns) <= kWaitShare * typical) {
    if (one.likely_ns < (far ? least : adds_up) || (!far && step <= 0)) return verdict;
    verdict.straggler = tally.ranks[late].rank;
    verdict.lost = one;
    return verdict;
  }
  const LostToWaiting turns = LostToTurns(all);
  if (turns.likely_ns < (far ? least : adds_up) || (!far && step <= 0)) return verdict;
  verdict.uneven = true;
  verdict.lost = turns;
  return verdict;
}

}  // namespace hone::analyze
