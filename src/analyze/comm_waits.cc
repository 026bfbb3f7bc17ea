// SPDX-License-Identifier: Apache-2.0
#include "analyze/comm_waits.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>
#include <vector>

#include "analyze/grouping.h"

namespace hone::analyze {
namespace {

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

// Every rank leaves a synchronizing collective at nearly the same moment, so the median difference
// of ends is the difference of clocks. Ranks are reached over the groups that they share.
class ClockCheck {
 public:
  ClockCheck(const Matching& matching, std::span<const RankComm> ranks)
      : matching_(matching), ranks_(ranks) {}

  RankClocks Run() {
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
  RankClocks clocks_;
};

// The longest wait that belongs to a step; no limit without steps.
Nanos LongestWait(std::span<const RankComm> ranks) {
  Nanos step = 0;
  for (const RankComm& rank : ranks) step = std::max(step, rank.median_step_ns);
  return step <= 0 || step > INT64_MAX / kStepsApart ? INT64_MAX : kStepsApart * step;
}

// Length of a set inside a window in O(log n): waits of many collectives may lie over each other.
class Lengths {
 public:
  Lengths() = default;
  explicit Lengths(const trace::IntervalSet& set) : set_(&set) {
    before_.reserve(set.size());
    Nanos sum = 0;
    for (const trace::Interval& part : set) {
      before_.push_back(sum);
      sum = SaturatingAdd(sum, part.length());
    }
  }
  Nanos Within(trace::Interval window) const {
    return std::max<Nanos>(0, Until(window.end_ns) - Until(window.begin_ns));
  }

 private:
  Nanos Until(Nanos time) const {
    if (set_ == nullptr) return 0;
    const auto parts = set_->span();
    const auto after = std::partition_point(
        parts.begin(), parts.end(), [&](const trace::Interval& p) { return p.begin_ns < time; });
    if (after == parts.begin()) return 0;
    const auto at = static_cast<std::size_t>(after - parts.begin()) - 1;
    return before_[at] + std::min(time, parts[at].end_ns) - parts[at].begin_ns;
  }

  const trace::IntervalSet* set_ = nullptr;
  std::vector<Nanos> before_;  // by part
};

class Measurement {
 public:
  Measurement(std::span<const RankComm> ranks, const RankClocks& clocks)
      : ranks_(ranks),
        clocks_(clocks),
        longest_(LongestWait(ranks)),
        spans_(ranks.size()),
        compared_(ranks.size()) {
    tally_.ranks.resize(ranks.size());
    tally_.taken.resize(ranks.size(), 0);
    tally_.around.resize(ranks.size(), 0);
    tally_.caused.resize(ranks.size(), 0);
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      tally_.ranks[r].rank = ranks[r].rank;
      tally_.ranks[r].compute_step_ns = ranks[r].compute_step_ns;
      lengths_.emplace_back();
      if (ranks[r].comm == nullptr) continue;
      lengths_.back() = Lengths(ranks[r].comm->exposed);
      tally_.ranks[r].waits.resize(ranks[r].comm->runs.size(), -1);
      compared_[r].resize(ranks[r].comm->runs.size(), false);
    }
  }

  WaitTally Run(const Matching& matching) && {
    std::uint64_t steady = 0;
    for (const MatchedGroup& group : matching.groups) {
      for (std::size_t k = 0; k < group.runs.front().size(); ++k) steady += InSteps(group, k);
    }
    for (const MatchedGroup& group : matching.groups) {
      for (std::size_t k = 0; k < group.runs.front().size(); ++k) {
        Add(group, k, steady == 0 || InSteps(group, k));
      }
    }
    for (std::size_t r = 0; r < ranks_.size(); ++r) Sum(r, matching);
    return std::move(tally_);
  }

 private:
  // Ranks leave start-up and what stands between steps far apart.
  bool InSteps(const MatchedGroup& group, std::size_t k) const {
    for (std::size_t m = 0; m < group.members.size(); ++m) {
      const trace::IntervalSet& steady = ranks_[group.members[m]].steady;
      if (!steady.empty() && !steady.Holds(group.runs[m][k]->start_ns)) return false;
    }
    return true;
  }

  void Add(const MatchedGroup& group, std::size_t k, bool counts) {
    Nanos earliest = INT64_MAX, latest = INT64_MIN;
    std::size_t last = 0;
    const auto start = [&](std::size_t m) {
      const Nanos own = group.runs[m][k]->start_ns;
      return clocks_.apart ? Difference(own, clocks_.ahead[group.members[m]]) : own;
    };
    for (std::size_t m = 0; m < group.members.size(); ++m) {
      earliest = std::min(earliest, start(m));
      if (start(m) > latest) {
        latest = start(m);
        last = m;
      }
    }
    const Nanos skew = Difference(latest, earliest);
    double exposed = 0;
    for (std::size_t m = 0; m < group.members.size(); ++m) {
      const std::size_t rank = group.members[m];
      tally_.taken[rank] += counts ? 1 : 0;
      const CollectiveRun& run = *group.runs[m][k];
      const auto index = static_cast<std::size_t>(&run - ranks_[rank].comm->runs.data());
      compared_[rank][index] = true;
      if (skew > longest_) continue;
      // On the rank's own clock, which its exposed time is on.
      const Nanos wait = Difference(latest, start(m)), begin = Nearer(run.start_ns);
      const trace::Interval span{begin, Nearer(SaturatingAdd(begin, wait))};
      tally_.ranks[rank].waits[index] = std::clamp<Nanos>(wait, 0, run.duration_ns);
      if (!counts) continue;
      spans_[rank].push_back(span);
      exposed += static_cast<double>(lengths_[rank].Within(span));
    }
    if (!counts) return;
    for (const std::size_t rank : group.members) tally_.around[rank] += exposed;
    // All at the same moment: nobody came last.
    if (latest > earliest) {
      ++tally_.ranks[group.members[last]].last;
      tally_.caused[group.members[last]] += exposed;
    }
    tally_.waited += exposed;
    if (group.runs.front()[k]->kind == "all_to_all") tally_.exchanged += exposed;
    tally_.waited_skew += exposed * static_cast<double>(skew);
    tally_.skews.push_back(skew);
  }

  // A rank that waits in two collectives at once (DDP sends several buckets) waits once.
  void Sum(std::size_t r, const Matching& matching) {
    RankSkew& rank = tally_.ranks[r];
    const trace::IntervalSet waits = trace::IntervalSet::Union(std::move(spans_[r]));
    rank.wait_ns = waits.length();
    if (ranks_[r].comm == nullptr) return;
    const double steps = StepsCompared(r, matching);
    std::vector<trace::Interval> spans;
    for (std::size_t i = 0; i < compared_[r].size(); ++i) {
      const CollectiveRun& run = ranks_[r].comm->runs[i];
      if (compared_[r][i]) spans.push_back({Nearer(run.start_ns), Nearer(EndOf(run))});
    }
    const trace::IntervalSet standing =
        trace::Intersect(trace::IntervalSet::Union(std::move(spans)), ranks_[r].comm->exposed);
    const trace::IntervalSet exposed = trace::Intersect(waits, ranks_[r].comm->exposed);
    rank.exposed_ns = exposed.length();
    const auto a_step = [&](const trace::IntervalSet& set) {
      const trace::IntervalSet& steady = ranks_[r].steady;
      const Nanos inside = steady.empty() ? set.length() : trace::IntersectLength(set, steady);
      return static_cast<double>(inside) / steps;
    };
    rank.exposed_step_ns = a_step(exposed);
    rank.wait_step_ns = a_step(waits);
    rank.standing_step_ns = a_step(standing);
  }

  // Of the steady steps, by what of their collectives was found on the other ranks: windows of
  // ranks may overlap in part only.
  double StepsCompared(std::size_t r, const Matching& matching) const {
    const RankComm& rank = ranks_[r];
    std::set<std::string_view> groups;
    for (const MatchedGroup& group : matching.groups) {
      if (std::binary_search(group.members.begin(), group.members.end(), r)) {
        groups.insert(group.name);
      }
    }
    std::uint64_t found = 0, all = 0;
    for (std::size_t i = 0; i < rank.comm->runs.size(); ++i) {
      const CollectiveRun& run = rank.comm->runs[i];
      if (!rank.steady.empty() && !rank.steady.Holds(run.start_ns)) continue;
      if (PointToPoint(run) || !groups.contains(run.group)) continue;
      ++all;
      found += compared_[r][i] ? 1 : 0;
    }
    const double part =
        all == 0 || found == 0 ? 1 : static_cast<double>(found) / static_cast<double>(all);
    return part * static_cast<double>(std::max<std::size_t>(rank.steady_steps, 1));
  }

  std::span<const RankComm> ranks_;
  const RankClocks& clocks_;
  const Nanos longest_;
  std::vector<std::vector<trace::Interval>> spans_;  // by rank
  std::vector<Lengths> lengths_;                     // by rank, of its exposed communication
  std::vector<std::vector<bool>> compared_;          // by rank and run
  WaitTally tally_;
};

}  // namespace

RankClocks CompareClocks(const Matching& matching, std::span<const RankComm> ranks) {
  return ClockCheck(matching, ranks).Run();
}

WaitTally MeasureWaits(const Matching& matching, std::span<const RankComm> ranks,
                       const RankClocks& clocks) {
  return Measurement(ranks, clocks).Run(matching);
}

}  // namespace hone::analyze
