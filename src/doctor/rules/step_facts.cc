// SPDX-License-Identifier: Apache-2.0
#include "doctor/rules/step_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "trace/record_again.h"

namespace hone::doctor {
namespace {

using trace::SliceKind;

bool TellsOfBackward(std::string_view name, SliceKind kind) {
  if (kind == SliceKind::kOp) {
    return name.starts_with("autograd::engine") || name.find("Backward") != std::string_view::npos;
  }
  return kind == SliceKind::kAnnotation && name.starts_with("Optimizer.step");
}

}  // namespace

bool Trains(const Case& the_case) {
  const trace::Trace& trace = the_case.trace;
  const trace::Interval window = the_case.facts.steps.host_window;
  std::vector<std::uint8_t> judged(trace.strings.size(), 0);  // 1: no, 2: yes
  for (trace::RowId i = 0; i < trace.host.size(); ++i) {
    const SliceKind kind = trace.host.kind[i];
    if (kind != SliceKind::kOp && kind != SliceKind::kAnnotation) continue;
    if (trace.host.start_ns[i] < window.begin_ns || trace.host.start_ns[i] >= window.end_ns) {
      continue;
    }
    if (kind == SliceKind::kOp && trace.op_details[trace.host.detail[i]].fwd_thread > 0) {
      return true;
    }
    std::uint8_t& name = judged[static_cast<std::uint32_t>(trace.host.name[i])];
    if (name == 0) name = TellsOfBackward(trace.HostName(i), kind) ? 2 : 1;
    if (name == 2) return true;
  }
  return false;
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
