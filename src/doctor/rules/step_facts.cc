// SPDX-License-Identifier: Apache-2.0
#include "doctor/rules/step_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "replay/edits/grad_mode.h"
#include "trace/record_again.h"

namespace hone::doctor {

bool Trains(const Case& the_case) {
  return replay::Trains(the_case.trace, the_case.facts.steps.host_window.hull());
}

double PerStep(const Case& the_case, Nanos in_steady_window) {
  return static_cast<double>(in_steady_window) /
         static_cast<double>(std::max<std::size_t>(the_case.steps(), 1));
}

Judgement JudgeWithoutCollectives(const Case& the_case) {
  const std::string& why = the_case.facts.comm.why_not();
  // One rank alone reduces nothing, and NCCL launches no kernel for it.
  if (the_case.trace.info.world_size == 1 || why.find("launched") == std::string::npos) {
    return Judgement::Quiet();
  }
  return Judgement::Missing(why + "; " +
                            trace::RecordAgain(the_case.trace.info, trace::Lacking::kDevice));
}

Judgement JudgeWithoutMemory(const Case& the_case) {
  const std::string& why = the_case.facts.memory.why_not();
  return Judgement::Missing(
      the_case.trace.info.profile_memory == 0
          ? why + "; " + trace::RecordAgain(the_case.trace.info, trace::Lacking::kMemory)
          : why);
}

void NoteStraggler(const Case& the_case, Finding& finding) {
  const analyze::SkewFacts* skew = the_case.skew;
  if (skew == nullptr || skew->straggler < 0) return;
  for (const analyze::RankSkew& rank : skew->ranks) {
    if (rank.rank != the_case.trace.info.rank || rank.rank == skew->straggler) continue;
    const auto steps =
        static_cast<double>(std::max<std::size_t>(the_case.facts.steps.steps.size(), 1));
    finding.confidence = Confidence::kLow;
    finding.evidence.push_back(
        fmt::format("{:.2f} ms a step of it is waiting for rank {}: see straggler first",
                    static_cast<double>(rank.wait_ns) / 1e6 / steps, skew->straggler));
  }
}

Known<double> ComputeShare(const Case& the_case) {
  if (!the_case.facts.timeline) return Known<double>::Absent(the_case.facts.timeline.why_not());
  if (the_case.whatif == nullptr) return Known<double>::Absent(the_case.why_no_replay);
  const double bare = the_case.whatif->bare().likely_ns;
  if (bare <= 0) return Known<double>::Absent("the replayed step has no length");
  const double compute =
      PerStep(the_case, the_case.facts.timeline->main_device().steady.compute_ns);
  return std::min(compute / bare, 1.0);
}

}  // namespace hone::doctor
