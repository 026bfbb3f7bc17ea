// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>
#include <vector>

#include "analyze/comm.h"
#include "analyze/comm_match.h"
#include "analyze/comm_verdict.h"
#include "analyze/comm_waits.h"
#include "analyze/grouping.h"

namespace hone::analyze {
namespace {

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

std::string Note(const Matching& matching, std::span<const RankComm> ranks,
                 const RankClocks& clocks) {
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
  const RankClocks clocks = CompareClocks(matching, ranks);
  WaitTally tally = MeasureWaits(matching, ranks, clocks);

  SkewFacts facts;
  facts.matched = tally.skews.size();
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
  const SkewVerdict verdict = JudgeWaits(tally, ranks);
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
