// SPDX-License-Identifier: Apache-2.0
// worker-restart: the loader's workers are started anew for every epoch.
#include "replay/edits/worker_restart.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "doctor/places.h"
#include "doctor/rank.h"
#include "doctor/rules/rules.h"
#include "trace/record_again.h"

namespace hone::doctor {
namespace {

// The window of the replay, or, where nothing was found there, all steps: a step that begins with
// new workers looks like warming up. The first step of a job starts its workers rightly.
trace::Interval AllSteps(const Case& the_case) {
  const std::vector<analyze::Step>& steps = the_case.facts.steps.steps;
  const bool first_of_job = steps.front().number <= 0 && steps.size() > 1;
  return {steps[first_of_job ? 1 : 0].host_span.begin_ns, steps.back().host_span.end_ns};
}

// Without a replay: what the recorded steps lost to it.
Severity SeverityOf(Nanos lost, trace::Interval steps) {
  const double share = static_cast<double>(lost) / static_cast<double>(steps.length());
  return share >= kHighShare     ? Severity::kHigh
         : share >= kMediumShare ? Severity::kMedium
                                 : Severity::kLow;
}

}  // namespace

Judgement JudgeWorkerRestart(const Case& the_case) {
  if (the_case.whatif == nullptr) return Judgement::Missing(the_case.why_no_replay);
  if (!the_case.facts.loader) {
    return Judgement::Missing(the_case.facts.loader.why_not() + "; " +
                              trace::RecordEpochEnd(the_case.trace.info));
  }
  const replay::Model& model = the_case.whatif->model();
  const trace::HostSlices& host = the_case.trace.host;
  replay::WorkerRestarts found = replay::FindRestarts(model, model.graph().window);
  const bool steady = !found.restarts.empty();
  trace::Interval span = model.graph().window;
  if (!steady) {
    span = AllSteps(the_case);
    found = replay::FindRestarts(model, span);
  }
  if (found.restarts.empty()) return Judgement::Quiet();
  Nanos total = 0;
  const replay::WorkerRestart* longest = &found.restarts.front();
  for (const replay::WorkerRestart& restart : found.restarts) {
    total += LengthOf(model, restart);
    if (LengthOf(model, restart) > LengthOf(model, *longest)) longest = &restart;
  }
  const auto ms = [](Nanos ns) { return ThreeDigits(static_cast<double>(ns) / 1e6); };

  Finding finding;
  finding.id = "worker-restart";
  finding.effort = Effort::kOneWord;
  const bool seen = longest->frame != trace::kNoRow;
  finding.confidence = seen ? Confidence::kHigh : Confidence::kMedium;
  finding.title = "the loader's workers are started anew for every epoch";
  finding.evidence.push_back(fmt::format("{} in {} ms of steps cost {} ms",
                                         Count(found.restarts.size(), "start"), ms(span.length()),
                                         ms(total)));
  if (steady) {
    finding.fix = {"worker-restart"};
  } else {
    finding.severity = SeverityOf(total, span);
    finding.recoverable_ns = Known<double>::Absent(
        "it fell into a step that counts as warm-up; record a whole epoch for a prediction");
    finding.evidence.emplace_back("it fell into a step that counts as warm-up elsewhere");
  }
  if (longest->fetch != trace::kNoRow) {
    finding.evidence.push_back(fmt::format(
        "starting takes {} ms, the first fetch {} ms, others {} ms", ms(longest->pause.length()),
        ms(host.duration_ns[longest->fetch]), ms(found.median_fetch_ns)));
  }
  finding.where.push_back(Places(the_case).Of(seen ? longest->frame : longest->fetch));
  finding.remedy = "DataLoader(..., persistent_workers=True)\n";
  return Judgement::Fires(std::move(finding));
}

}  // namespace hone::doctor
