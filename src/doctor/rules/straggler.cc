// SPDX-License-Identifier: Apache-2.0
// straggler: one rank keeps the others waiting.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/median.h"
#include "base/text.h"
#include "doctor/rank.h"
#include "doctor/rules/rules.h"

namespace hone::doctor {
namespace {

using analyze::RankSkew;

// Whether some collective of this file has more than one rank.
bool HasPartners(const Case& the_case) {
  if (the_case.trace.info.world_size == 1) return false;
  if (!the_case.facts.comm) {
    // Collectives may be launched without a kernel in the file; a file without any has no partner.
    return the_case.trace.info.world_size > 1;
  }
  const auto& rows = the_case.facts.comm->rows;
  return std::any_of(rows.begin(), rows.end(),
                     [](const analyze::CollectiveRow& row) { return row.group_size != 1; });
}

double MedianWaitOfOthers(const analyze::SkewFacts& skew) {
  std::vector<double> waits;
  for (const RankSkew& rank : skew.ranks) {
    if (rank.rank != skew.straggler) waits.push_back(static_cast<double>(rank.wait_ns));
  }
  return UpperMedian(std::move(waits));
}

}  // namespace

Judgement JudgeStraggler(const Case& the_case) {
  if (the_case.skew == nullptr) {
    if (!HasPartners(the_case)) return Judgement::Quiet();
    return Judgement::Missing(
        "one rank alone shows no straggler; give hone the traces of all ranks, or their folder");
  }
  const analyze::SkewFacts& skew = *the_case.skew;
  if (skew.straggler < 0) return Judgement::Quiet();
  const auto slow = std::find_if(skew.ranks.begin(), skew.ranks.end(),
                                 [&](const RankSkew& rank) { return rank.rank == skew.straggler; });
  // Waits are summed over every collective of the file, so over all its steps.
  const auto steps =
      static_cast<double>(std::max<std::size_t>(the_case.facts.steps.steps.size(), 1));
  const double wait = MedianWaitOfOthers(skew) / steps;
  const double step = the_case.step_ns();
  if (step > 0 && wait < kLeastShare * step) return Judgement::Quiet();

  Finding finding;
  finding.id = "straggler";
  finding.title = the_case.trace.info.rank == skew.straggler
                      ? fmt::format("this rank, {}, keeps the others waiting", skew.straggler)
                      : fmt::format("rank {} keeps the others waiting", skew.straggler);
  finding.severity = Severity::kMedium;
  if (step > 0) {
    finding.severity = wait >= kHighShare * step     ? Severity::kHigh
                       : wait >= kMediumShare * step ? Severity::kMedium
                                                     : Severity::kLow;
    finding.evidence.push_back(
        fmt::format("half of the other ranks wait {} a step or more for it, {} of a step",
                    HumanDuration(static_cast<Nanos>(wait)), Percent(wait / step)));
  }
  // Measured, not replayed: what the others would not wait if it came with them.
  if (step > 0) {
    finding.recoverable_ns = std::min(wait, step);
    if (wait < step) finding.speedup = step / (step - wait);
  }
  finding.confidence = skew.clocks_aligned ? Confidence::kHigh : Confidence::kMedium;
  finding.effort = Effort::kRework;
  if (slow != skew.ranks.end()) {
    finding.evidence.push_back(fmt::format(
        "it comes last in {} of {} matched collectives and waits {} itself",
        WithThousands(slow->last), WithThousands(skew.matched), HumanDuration(slow->wait_ns)));
  }
  std::string waits;
  std::size_t shown = 0;
  for (const RankSkew& rank : skew.ranks) {
    if (shown++ == 8) {
      waits += ", …";
      break;
    }
    waits += fmt::format("{}rank {} {}", waits.empty() ? "" : ", ", rank.rank,
                         HumanDuration(rank.wait_ns));
  }
  finding.evidence.push_back("waits in all: " + waits);
  if (!skew.clocks_aligned && !skew.note.empty()) finding.evidence.push_back(skew.note);
  finding.remedy = fmt::format(
      "hone analyze <trace of rank {0}>   # and compare with another rank: what does it do "
      "longer?\n"
      "# as many samples of the same length on every rank (DistributedSampler, drop_last=True),\n"
      "# no logging, evaluation or checkpoints on rank {0} alone, the same clocks and cores\n",
      skew.straggler);
  return Judgement::Fires(std::move(finding));
}

}  // namespace hone::doctor
