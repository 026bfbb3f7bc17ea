// SPDX-License-Identifier: Apache-2.0
#include "doctor/rules/step_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "replay/edits/grad_mode.h"
#include "trace/record_again.h"

namespace hone::doctor {
namespace {

// Judged once per distinct name.
bool HasSlice(const trace::Trace& trace, std::initializer_list<std::string_view> starts) {
  std::vector<bool> seen(trace.strings.size(), false);
  for (trace::RowId i = 0; i < trace.host.size(); ++i) {
    const auto name = static_cast<std::size_t>(trace.host.name[i]);
    if (seen[name]) continue;
    seen[name] = true;
    for (const std::string_view start : starts) {
      if (trace.HostName(i).starts_with(start)) return true;
    }
  }
  return false;
}

}  // namespace

bool WrappedInDdp(const trace::Trace& trace) {
  return HasSlice(trace, {"DistributedDataParallel.forward"});
}

bool WrappedInFsdp(const trace::Trace& trace) {
  return HasSlice(trace, {"FullyShardedDataParallel", "FSDP::"});
}

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

void NoteWaits(const Case& the_case, const replay::CommExposure& exposure, Finding& finding) {
  const auto steps = static_cast<double>(the_case.whatif->model().graph().steps);
  const double waited = exposure.waited_ns / steps, step = the_case.whatif->measured_ns();
  // Of a step: less is how hosts launch.
  constexpr double kWorthSaying = 0.005;
  if (waited >= kWorthSaying * step) {
    finding.evidence.push_back(fmt::format(
        "{:.2f} ms a step more are no transfer but waiting for the last rank: hone help straggler",
        waited / 1e6));
  }
  if (exposure.all_given()) return;
  const bool mostly = exposure.doubtful_ns > exposure.transfer_ns() / 2;
  finding.confidence =
      mostly ? Confidence::kLow : std::min(finding.confidence, Confidence::kMedium);
  const std::string given =
      exposure.ranks > 0 ? fmt::format("{} of {} ranks given", exposure.given, exposure.ranks)
                         : std::string("one rank given");
  const double doubtful = exposure.doubtful_ns / steps;
  finding.evidence.push_back(
      doubtful >= kWorthSaying * step
          ? fmt::format(
                "{}: {:.2f} ms a step of it or more, beyond what messages like these needed "
                "elsewhere, may be waiting for a rank that is not here; give hone the traces "
                "of all ranks",
                given, doubtful / 1e6)
          : given +
                ": how much of it is waiting for a rank that is not here cannot be told; give hone "
                "the traces of all ranks");
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
