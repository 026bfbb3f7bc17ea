// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "analyze/comm.h"
#include "analyze/comm_match.h"
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
  // By rank: exposed waiting of all members in the collectives that it takes part in, and in those
  // of them in which it comes last.
  std::vector<double> around, caused;
  double waited = 0, waited_skew = 0;  // of all, and the same times the skew
  double exchanged = 0;                // of all, in all-to-all exchanges
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
  Measurement(std::span<const RankComm> ranks, const Clocks& clocks)
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

  Tally Run(const Matching& matching) && {
    for (const MatchedGroup& group : matching.groups) {
      for (std::size_t k = 0; k < group.runs.front().size(); ++k) Add(group, k);
    }
    for (std::size_t r = 0; r < ranks_.size(); ++r) Sum(r, matching);
    return std::move(tally_);
  }

 private:
  void Add(const MatchedGroup& group, std::size_t k) {
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
      ++tally_.taken[rank];
      const CollectiveRun& run = *group.runs[m][k];
      const auto index = static_cast<std::size_t>(&run - ranks_[rank].comm->runs.data());
      compared_[rank][index] = true;
      if (skew > longest_) continue;
      // On the rank's own clock, which its exposed time is on.
      const Nanos wait = Difference(latest, start(m)), begin = Nearer(run.start_ns);
      const trace::Interval span{begin, Nearer(SaturatingAdd(begin, wait))};
      spans_[rank].push_back(span);
      exposed += static_cast<double>(lengths_[rank].Within(span));
      tally_.ranks[rank].waits[index] = std::clamp<Nanos>(wait, 0, run.duration_ns);
    }
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
  const Clocks& clocks_;
  const Nanos longest_;
  std::vector<std::vector<trace::Interval>> spans_;  // by rank
  std::vector<Lengths> lengths_;                     // by rank, of its exposed communication
  std::vector<std::vector<bool>> compared_;          // by rank and run
  Tally tally_;
};

struct Verdict {
  std::int64_t straggler = -1;
  bool uneven = false;
  LostToWaiting lost;
};

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

Verdict Judge(const Tally& tally, std::span<const RankComm> ranks) {
  Verdict verdict;
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
  Tally tally = Measurement(ranks, clocks).Run(matching);

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
  const Verdict verdict = Judge(tally, ranks);
  facts.straggler = verdict.straggler;
  facts.uneven = verdict.uneven;
  facts.lost = verdict.lost;
  for (const MatchedGroup& group : matching.groups) {
    if (group.size > static_cast<std::int64_t>(group.members.size())) facts.complete = false;
  }
  facts.note = Note(matching, ranks, clocks);
  for (std::size_t r = 0; r < tally.ranks.size(); ++r) {
    if (tally.taken[r] > 0) facts.ranks.push_back(std::move(tally.ranks[r]));
  }
  std::stable_sort(facts.ranks.begin(), facts.ranks.end(), [](const auto& a, const auto& b) {
    return std::tie(a.exposed_ns, a.wait_ns) < std::tie(b.exposed_ns, b.wait_ns);
  });
  return facts;
}

}  // namespace hone::analyze
