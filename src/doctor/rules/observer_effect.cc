// SPDX-License-Identifier: Apache-2.0
// observer-effect: the recorder slows what it watches.
#include <fmt/format.h>

#include <cmath>

#include "base/text.h"
#include "doctor/rules/rules.h"

namespace hone::doctor {
namespace {

// Less than this is inside the spread of any step.
constexpr double kLeastShare = 0.03;

// A replay that does not reproduce the step cannot tell what of it is the recorder's.
constexpr double kMostError = 0.1;

}  // namespace

Judgement JudgeObserverEffect(const Case& the_case) {
  if (the_case.whatif == nullptr) return Judgement::Missing(the_case.why_no_replay);
  const auto& edit = the_case.whatif->Find("observer-effect");
  if (!edit) return Judgement::Missing(edit.why_not());
  if (std::abs(the_case.whatif->error()) > kMostError && the_case.whatif->bare_timed() == 0) {
    return Judgement::Missing(fmt::format(
        "the replay is {} off the measured step, so that what the recorder takes is not known",
        Percent(std::abs(the_case.whatif->error()))));
  }
  const double measured = the_case.whatif->measured_ns();
  const replay::Prediction& bare = the_case.whatif->bare();
  if (bare.likely_ns > (1 - kLeastShare) * measured) return Judgement::Quiet();

  Finding finding;
  finding.id = "observer-effect";
  finding.severity = Severity::kInfo;
  const trace::TimedSteps& timed = the_case.trace.info.timed_steps;
  finding.confidence = the_case.whatif->bare_timed() > 0 ? Confidence::kHigh : Confidence::kMedium;
  finding.effort = Effort::kNone;
  finding.title =
      fmt::format("the profiler slows this program: without it a step takes about {:.1f} ms",
                  bare.likely_ns / 1e6);
  finding.evidence.push_back(
      fmt::format("{:.1f} ms recorded; {:.1f} to {:.1f} ms expected without it", measured / 1e6,
                  bare.low_ns / 1e6, bare.high_ns / 1e6));
  if (timed.bare_steps > 0) {
    finding.evidence.push_back(
        fmt::format("{:.1f} ms a step, timed over {} right after the recording",
                    measured / 1e6 * timed.bare_part(),
                    Count(static_cast<std::uint64_t>(timed.bare_steps), "step")));
  }
  finding.evidence.push_back((*edit)->Scope(the_case.whatif->model()));
  finding.recoverable_ns = measured - bare.likely_ns;
  finding.predicted = bare;
  finding.speedup = measured / bare.likely_ns;
  finding.remedy =
      "# not your program's fault: time the step without the profiler before you judge it\n";
  return Judgement::Fires(std::move(finding));
}

}  // namespace hone::doctor
