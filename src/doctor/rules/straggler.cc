// SPDX-License-Identifier: Apache-2.0
// straggler: one rank keeps the others waiting, or they take turns in it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "base/median.h"
#include "base/text.h"
#include "doctor/rank.h"
#include "doctor/rules/rules.h"

namespace hone::doctor {
namespace {

using analyze::RankSkew;
using analyze::SkewFacts;

// Whether some collective of this file has more than one rank.
bool HasPartners(const Case& the_case) {
  if (the_case.trace.info.world_size == 1) return false;
  if (!the_case.facts.comm) {
    // Collectives may be launched without a kernel in the file; a file without any has no partner.
    return the_case.trace.info.world_size > 1;
  }
  const auto& rows = the_case.facts.comm->rows;
  // Of a pipeline's sends and receives exposed-comm tells.
  return std::any_of(rows.begin(), rows.end(), [](const analyze::CollectiveRow& row) {
    return row.group_size != 1 && row.kind != "send" && row.kind != "recv";
  });
}

// Those that wait at most half as long as the one that waits most; all of them: nobody stands out.
std::vector<std::int64_t> LateRanks(const SkewFacts& skew) {
  constexpr double kLate = 0.5;
  double most = 0;
  for (const RankSkew& rank : skew.ranks) most = std::max(most, rank.exposed_step_ns);
  std::vector<std::int64_t> late;
  for (const RankSkew& rank : skew.ranks) {
    if (rank.exposed_step_ns <= kLate * most) late.push_back(rank.rank);
  }
  std::sort(late.begin(), late.end());
  return late;
}

std::string Title(const Case& the_case, const SkewFacts& skew) {
  if (skew.straggler >= 0) {
    return the_case.trace.info.rank == skew.straggler
               ? fmt::format("this rank, {}, keeps the others waiting", skew.straggler)
               : fmt::format("rank {} keeps the others waiting", skew.straggler);
  }
  constexpr std::size_t kNamed = 4;
  const std::vector<std::int64_t> late = LateRanks(skew);
  if (late.empty()) {
    return "the ranks wait for each other: another one is late from step to step";
  }
  if (late.size() > kNamed) return fmt::format("{} ranks keep the others waiting", late.size());
  return fmt::format("{} {} keep{} the others waiting", late.size() == 1 ? "rank" : "ranks",
                     fmt::join(late, ", "), late.size() == 1 ? "s" : "");
}

// What the late rank does longer: its device's work, or what comes before it.
void AddCompute(const SkewFacts& skew, const RankSkew& slow, Finding& finding) {
  std::vector<double> others;
  for (const RankSkew& rank : skew.ranks) {
    if (rank.rank != slow.rank) others.push_back(rank.compute_step_ns);
  }
  const double typical = UpperMedian(std::move(others));
  if (slow.compute_step_ns <= 0 || typical <= 0) return;
  const bool device = slow.compute_step_ns - typical >= skew.lost.likely_ns / 2;
  finding.evidence.push_back(fmt::format(
      "its device computes {:.2f} ms a step, the others' {:.2f} ms: {}", slow.compute_step_ns / 1e6,
      typical / 1e6,
      device ? "more work, or a slower device" : "what holds it is not its device's work"));
}

void AddEvidence(const Case& the_case, const SkewFacts& skew, Finding& finding) {
  const double step = the_case.step_ns();
  const std::string share =
      step > 0 ? fmt::format(", {} of a step", Percent(skew.lost.likely_ns / step)) : "";
  const auto lost = HumanDuration(static_cast<Nanos>(skew.lost.likely_ns));
  if (skew.straggler < 0) {
    finding.evidence.push_back(fmt::format(
        "a rank loses {} a step on average, waiting with nothing else to run{}", lost, share));
  } else {
    finding.evidence.push_back(
        fmt::format("the others lose {} a step or more to it, waiting with nothing else to run{}",
                    lost, share));
    for (const RankSkew& rank : skew.ranks) {
      if (rank.rank != skew.straggler) continue;
      finding.evidence.push_back(fmt::format(
          "it comes last in {} of {} matched collectives and waits {} itself",
          WithThousands(rank.last), WithThousands(skew.matched), HumanDuration(rank.wait_ns)));
      AddCompute(skew, rank, finding);
    }
  }
  constexpr std::size_t kShown = 8;
  std::string waits;
  for (std::size_t i = 0; i < skew.ranks.size(); ++i) {
    if (i == kShown) {
      waits += ", …";
      break;
    }
    waits += fmt::format("{}rank {} {}", waits.empty() ? "" : ", ", skew.ranks[i].rank,
                         HumanDuration(static_cast<Nanos>(skew.ranks[i].exposed_step_ns)));
  }
  finding.evidence.push_back("a step, with nothing else to run: " + waits);
  if (!skew.note.empty() && (!skew.clocks_aligned || !skew.complete)) {
    finding.evidence.push_back(skew.note);
  }
}

bool Exchanges(const Case& the_case) {
  if (!the_case.facts.comm) return false;
  const auto& rows = the_case.facts.comm->rows;
  return std::any_of(rows.begin(), rows.end(),
                     [](const analyze::CollectiveRow& row) { return row.kind == "all_to_all"; });
}

std::string Remedy(const Case& the_case, const SkewFacts& skew) {
  std::string remedy;
  if (skew.straggler >= 0) {
    remedy = fmt::format(
        "hone analyze TRACE_OF_RANK_{0}   # and compare with another rank: what does it do "
        "longer?\n"
        "# as many samples of the same length on every rank (DistributedSampler, drop_last=True),\n"
        "# no logging, evaluation or checkpoints on rank {0} alone, the same clocks and cores\n",
        skew.straggler);
  } else {
    remedy =
        "# as much work for every rank in every step: batches by tokens instead of samples,\n"
        "# samples of like length together, padded or packed to the same length on every rank\n"
        "gc.disable()   # and gc.collect() in the same step on every rank\n";
  }
  if (Exchanges(the_case)) {
    remedy +=
        "# experts: a load-balancing loss or a capacity factor evens out what each rank gets\n";
  }
  return remedy;
}

std::string WhyNot(const Case& the_case) {
  if (the_case.skew == nullptr) {
    return "one rank alone shows no straggler; give hone the traces of all ranks, or their folder";
  }
  return the_case.skew->note +
         "; none of those given is late, one that is not here may be; give hone the traces of all "
         "ranks";
}

}  // namespace

Judgement JudgeStraggler(const Case& the_case) {
  if (the_case.skew == nullptr) {
    return HasPartners(the_case) ? Judgement::Missing(WhyNot(the_case)) : Judgement::Quiet();
  }
  const SkewFacts& skew = *the_case.skew;
  if (skew.straggler < 0 && !skew.uneven) {
    return skew.complete ? Judgement::Quiet() : Judgement::Missing(WhyNot(the_case));
  }
  const double step = the_case.step_ns(), lost = skew.lost.likely_ns;
  if (step > 0 && lost < kLeastShare * step) return Judgement::Quiet();

  Finding finding;
  finding.id = "straggler";
  finding.title = Title(the_case, skew);
  finding.fix = {"straggler"};
  finding.severity = Severity::kMedium;
  if (step > 0) {
    finding.severity = lost >= kHighShare * step     ? Severity::kHigh
                       : lost >= kMediumShare * step ? Severity::kMedium
                                                     : Severity::kLow;
  }
  finding.confidence = skew.clocks_aligned && skew.complete && skew.straggler >= 0
                           ? Confidence::kHigh
                           : Confidence::kMedium;
  finding.effort = Effort::kRework;
  AddEvidence(the_case, skew, finding);
  finding.remedy = Remedy(the_case, skew);
  return Judgement::Fires(std::move(finding));
}

}  // namespace hone::doctor
