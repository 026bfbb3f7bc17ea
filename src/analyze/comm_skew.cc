// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "analyze/comm.h"
#include "analyze/comm_match.h"
#include "analyze/grouping.h"

namespace hone::analyze {
namespace {

// Thresholds of the straggler verdict, ours. Chance alone makes one of two ranks last in half of
// the collectives, so "most" must lie clearly above that; a real straggler hardly waits at all
// while all others wait for it; and kernels of one collective start tens of microseconds apart on a
// healthy machine, because hosts launch them independently.
constexpr double kLastShare = 2.0 / 3;
constexpr double kWaitShare = 0.5;                 // of the median wait of the other ranks
constexpr Nanos kHealthySkew = 50 * kMicrosecond;  // mean
// In steps. Ranks that wait for each other in every step never come further apart: a longer wait is
// for a rank that starts later or stops in between, and one such would outweigh every step.
constexpr Nanos kStepsApart = 3;

Nanos Difference(Nanos a, Nanos b) {
  Nanos difference;
  if (__builtin_sub_overflow(a, b, &difference)) return a > b ? INT64_MAX : -INT64_MAX;
  return std::max(difference, -INT64_MAX);
}
// Broken files have any times; sums of these still fit.
Nanos Nearer(Nanos time) { return std::clamp<Nanos>(time, INT64_MIN / 4, INT64_MAX / 4); }
Nanos EndOf(const CollectiveRun& run) { return SaturatingAdd(run.start_ns, run.duration_ns); }

struct Clocks {
  std::vector<Nanos> ahead;  // by rank: its clock minus the reference's
  bool apart = false;
  Nanos largest = 0;
  std::size_t largest_rank = 0;
};

// Every rank leaves a synchronizing collective at nearly the same moment, so the median difference
// of ends is the difference of clocks. Ranks are reached over the groups that they share.
class ClockCheck {
 public:
  ClockCheck(const Matching& matching, std::span<const RankComm> ranks)
      : matching_(matching), ranks_(ranks) {}

  Clocks Run() {
    clocks_.ahead.assign(ranks_.size(), 0);
    std::vector<std::vector<std::size_t>> groups_of(ranks_.size());
    for (std::size_t g = 0; g < matching_.groups.size(); ++g) {
      for (const std::size_t rank : matching_.groups[g].members) groups_of[rank].push_back(g);
    }
    std::vector<bool> reached(ranks_.size(), false), done(matching_.groups.size(), false);
    std::vector<std::size_t> queue;
    for (std::size_t first = 0; first < ranks_.size(); ++first) {
      if (reached[first]) continue;
      reached[first] = true;
      queue.assign(1, first);
      for (std::size_t i = 0; i < queue.size(); ++i) {
        for (const std::size_t g : groups_of[queue[i]]) {
          if (done[g]) continue;
          done[g] = true;
          Compare(matching_.groups[g], queue[i], reached, queue);
        }
      }
    }
    return clocks_;
  }

 private:
  void Compare(const MatchedGroup& group, std::size_t base, std::vector<bool>& reached,
               std::vector<std::size_t>& queue) {
    const auto reference = static_cast<std::size_t>(
        std::find(group.members.begin(), group.members.end(), base) - group.members.begin());
    for (std::size_t m = 0; m < group.members.size(); ++m) {
      const std::size_t rank = group.members[m];
      if (reached[rank]) continue;
      reached[rank] = true;
      CompareMembers(group, reference, m);
      queue.push_back(rank);
    }
  }

  void CompareMembers(const MatchedGroup& group, std::size_t reference, std::size_t member) {
    const std::size_t rank = group.members[member];
    const std::size_t base = group.members[reference];
    differences_.clear();
    std::size_t impossible = 0;
    for (std::size_t k = 0; k < group.runs[member].size(); ++k) {
      if (!group.synchronizing(k)) continue;
      const CollectiveRun& own = *group.runs[member][k];
      const CollectiveRun& other = *group.runs[reference][k];
      differences_.push_back(Difference(EndOf(own), EndOf(other)));
      // One left before the other came: no such thing happens on one clock.
      if (EndOf(own) < other.start_ns || EndOf(other) < own.start_ns) ++impossible;
    }
    if (differences_.empty()) {
      clocks_.ahead[rank] = clocks_.ahead[base];
      return;
    }
    const Nanos ahead = Percentile(differences_, 0.5);
    clocks_.ahead[rank] = SaturatingAdd(clocks_.ahead[base], ahead);
    const Nanos step = std::max(ranks_[rank].median_step_ns, ranks_[base].median_step_ns);
    const Nanos distance = std::abs(ahead);
    if ((step > 0 && distance > step) || impossible * 2 > differences_.size()) {
      clocks_.apart = true;
    }
    if (distance > clocks_.largest) {
      clocks_.largest = distance;
      clocks_.largest_rank = rank;
    }
  }

  const Matching& matching_;
  std::span<const RankComm> ranks_;
  std::vector<Nanos> differences_;
  Clocks clocks_;
};

struct Tally {
  std::vector<Nanos> skews;          // by matched collective
  std::vector<RankSkew> ranks;       // by rank
  std::vector<std::uint64_t> taken;  // by rank: matched collectives it takes part in
};

// The longest wait that belongs to a step; no limit without steps.
Nanos LongestWait(std::span<const RankComm> ranks) {
  Nanos step = 0;
  for (const RankComm& rank : ranks) step = std::max(step, rank.median_step_ns);
  return step <= 0 || step > INT64_MAX / kStepsApart ? INT64_MAX : kStepsApart * step;
}

Tally Measure(const Matching& matching, std::span<const RankComm> ranks, const Clocks& clocks) {
  Tally tally;
  tally.ranks.resize(ranks.size());
  tally.taken.resize(ranks.size(), 0);
  std::vector<std::vector<trace::Interval>> waits(ranks.size());
  const Nanos longest = LongestWait(ranks);
  for (std::size_t r = 0; r < ranks.size(); ++r) tally.ranks[r].rank = ranks[r].rank;
  for (const MatchedGroup& group : matching.groups) {
    for (std::size_t k = 0; k < group.runs.front().size(); ++k) {
      Nanos earliest = INT64_MAX, latest = INT64_MIN;
      std::size_t last = 0;
      const auto start = [&](std::size_t m) {
        const Nanos own = group.runs[m][k]->start_ns;
        return clocks.apart ? Difference(own, clocks.ahead[group.members[m]]) : own;
      };
      for (std::size_t m = 0; m < group.members.size(); ++m) {
        earliest = std::min(earliest, start(m));
        if (start(m) > latest) {
          latest = start(m);
          last = m;
        }
      }
      for (std::size_t m = 0; m < group.members.size(); ++m) {
        if (Difference(latest, earliest) <= longest) {
          waits[group.members[m]].push_back({Nearer(start(m)), Nearer(latest)});
        }
        ++tally.taken[group.members[m]];
      }
      // All at the same moment: nobody came last.
      if (latest > earliest) ++tally.ranks[group.members[last]].last;
      tally.skews.push_back(Difference(latest, earliest));
    }
  }
  // A rank that waits in two collectives at once (DDP sends several buckets) waits once.
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    tally.ranks[r].wait_ns = trace::IntervalSet::Union(std::move(waits[r])).length();
  }
  return tally;
}

std::int64_t FindStraggler(const Tally& tally, Nanos mean_skew) {
  if (mean_skew < kHealthySkew) return -1;
  std::size_t candidate = tally.ranks.size();
  for (std::size_t r = 0; r < tally.ranks.size(); ++r) {
    if (tally.taken[r] == 0) continue;
    if (candidate == tally.ranks.size() ||
        tally.ranks[r].wait_ns < tally.ranks[candidate].wait_ns) {
      candidate = r;
    }
  }
  if (candidate == tally.ranks.size()) return -1;
  const auto last = static_cast<double>(tally.ranks[candidate].last);
  if (last < kLastShare * static_cast<double>(tally.taken[candidate])) return -1;
  std::vector<Nanos> others;
  for (std::size_t r = 0; r < tally.ranks.size(); ++r) {
    if (r != candidate && tally.taken[r] > 0) others.push_back(tally.ranks[r].wait_ns);
  }
  const auto typical = static_cast<double>(Percentile(others, 0.5));
  const auto own = static_cast<double>(tally.ranks[candidate].wait_ns);
  return own <= kWaitShare * typical ? tally.ranks[candidate].rank : -1;
}

void Append(std::string& note, const std::string& sentence) {
  if (sentence.empty()) return;
  if (!note.empty()) note += "; ";
  note += sentence;
}

std::string Milliseconds(Nanos time) {
  std::string text = std::to_string(std::round(ToMillis(time) * 1000) / 1000);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text + " ms";
}

std::string Note(const Matching& matching, std::span<const RankComm> ranks, const Clocks& clocks) {
  std::string note;
  if (clocks.apart) {
    Append(note, "the ranks' clocks disagree: they were moved by up to " +
                     Milliseconds(clocks.largest) + " (rank " +
                     std::to_string(ranks[clocks.largest_rank].rank) +
                     ") so that collectives end together");
  }
  std::size_t silent = 0;
  for (const RankComm& rank : ranks) silent += rank.comm == nullptr || rank.comm->runs.empty();
  if (silent > 0) {
    Append(note, std::to_string(silent) + " of " + std::to_string(ranks.size()) +
                     " ranks have no collective");
  }
  for (const MatchedGroup& group : matching.groups) {
    if (group.size <= static_cast<std::int64_t>(group.members.size())) continue;
    Append(note, "group \"" + group.name + "\" has " + std::to_string(group.size) +
                     " ranks, traces of " + std::to_string(group.members.size()) +
                     " were given: others may come later still");
    break;
  }
  if (matching.point_to_point > 0) {
    Append(note,
           std::to_string(matching.point_to_point) + " point-to-point transfers are not compared");
  }
  Append(note, matching.doubt);
  return note;
}

}  // namespace

Known<SkewFacts> MeasureSkew(std::span<const RankComm> ranks) {
  using Absent = Known<SkewFacts>;
  if (ranks.size() < 2) return Absent::Absent("needs the traces of at least two ranks");
  const Matching matching = MatchCollectives(ranks);
  if (matching.matched == 0) {
    return Absent::Absent(matching.doubt.empty() ? "the ranks have no collective in common"
                                                 : matching.doubt);
  }
  const Clocks clocks = ClockCheck(matching, ranks).Run();
  Tally tally = Measure(matching, ranks, clocks);

  SkewFacts facts;
  facts.matched = matching.matched;
  facts.unmatched = matching.unmatched;
  facts.clocks_aligned = !clocks.apart;
  double sum = 0;
  for (const Nanos skew : tally.skews) {
    sum += static_cast<double>(skew);
    facts.max_skew_ns = std::max(facts.max_skew_ns, skew);
  }
  const double mean = sum / static_cast<double>(tally.skews.size());
  facts.mean_skew_ns = mean >= 9.2e18 ? INT64_MAX : static_cast<Nanos>(mean);
  facts.p95_skew_ns = Percentile(tally.skews, 0.95);
  facts.straggler = FindStraggler(tally, facts.mean_skew_ns);
  facts.note = Note(matching, ranks, clocks);
  for (std::size_t r = 0; r < tally.ranks.size(); ++r) {
    if (tally.taken[r] > 0) facts.ranks.push_back(tally.ranks[r]);
  }
  std::stable_sort(facts.ranks.begin(), facts.ranks.end(),
                   [](const auto& a, const auto& b) { return a.wait_ns < b.wait_ns; });
  return facts;
}

}  // namespace hone::analyze
