// SPDX-License-Identifier: Apache-2.0
#include "doctor/doctor.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "doctor/half_precision.h"
#include "doctor/rank.h"
#include "doctor/rule.h"
#include "doctor/rules/rules.h"

namespace hone::doctor {
namespace {

ReplayFacts Summarize(const replay::WhatIf& whatif) {
  const replay::Graph& graph = whatif.model().graph();
  ReplayFacts facts;
  facts.measured_ns = whatif.measured_ns();
  facts.replayed_ns = whatif.replayed_ns();
  facts.error = whatif.error();
  facts.steps = graph.steps;
  facts.all_steps = graph.all_steps;
  facts.bare = whatif.bare();
  facts.timed_steps = whatif.bare_timed();
  facts.path = replay::FindCriticalPath(graph, replay::Plan(graph));
  facts.path_parts = replay::GroupPath(whatif.model(), facts.path);
  facts.together = Known<replay::Prediction>::Absent("no finding has a fix that can be predicted");
  return facts;
}

// On top of what the findings say, unless one of them offers it.
Known<replay::Prediction> HalfOnTop(const std::vector<Finding>& findings,
                                    const replay::WhatIf& whatif) {
  std::vector<std::string_view> fixes;
  const std::string_view half = HalfPrecisionOf(whatif.model()).fix;
  for (const Finding& finding : findings) {
    const bool offers =
        std::ranges::find(finding.instead, half, &Instead::fix) != finding.instead.end();
    if (offers || std::ranges::find(finding.fix, half) != finding.fix.end()) {
      return Known<replay::Prediction>::Absent("offered by the finding " + finding.id);
    }
    fixes.insert(fixes.end(), finding.fix.begin(), finding.fix.end());
  }
  return OfferHalfPrecision(whatif, std::move(fixes));
}

// The host's side alone looks like a program that computes on the CPU, and would be judged as one.
Diagnosis JudgeNothing() {
  constexpr char kWhy[] = "the device's work stands in records that hone does not read";
  Diagnosis diagnosis;
  for (const RuleInfo& rule : AllRules()) {
    ++diagnosis.rules;
    diagnosis.not_checked.push_back({rule.id, kWhy});
  }
  ++diagnosis.rules;
  diagnosis.not_checked.push_back({"healthy", kWhy});
  diagnosis.replay = Known<ReplayFacts>::Absent(kWhy);
  return diagnosis;
}

}  // namespace

Diagnosis Diagnose(const trace::Trace& trace, const analyze::Facts& facts,
                   const analyze::SkewFacts* skew) {
  if (trace.device.size() == 0 && trace.losses[LossKind::kUnreadDevice].count > 0) {
    return JudgeNothing();
  }
  Diagnosis diagnosis;
  const Known<std::unique_ptr<replay::Model>> model = replay::Model::Build(trace, facts, skew);
  std::unique_ptr<replay::WhatIf> whatif;
  if (model) whatif = std::make_unique<replay::WhatIf>(**model);
  const Case the_case{trace, facts, whatif.get(), model.why_not(), skew};

  std::vector<Finding> fired;
  for (const RuleInfo& rule : AllRules()) {
    Judgement judgement = rule.judge(the_case);
    ++diagnosis.rules;
    if (judgement.missing()) diagnosis.not_checked.push_back({rule.id, judgement.why_missing()});
    if (judgement.fires()) fired.push_back(std::move(judgement.finding()));
  }
  Ranking ranking = Rank(std::move(fired), whatif.get());
  // Only after the others have been heard.
  Judgement healthy = JudgeHealthy(the_case, ranking.findings);
  ++diagnosis.rules;
  if (healthy.missing()) diagnosis.not_checked.push_back({"healthy", healthy.why_missing()});
  if (healthy.fires()) ranking.findings.push_back(std::move(healthy.finding()));
  diagnosis.findings = std::move(ranking.findings);
  diagnosis.busiest = FindBusiestLine(facts, diagnosis.findings);
  diagnosis.busiest_kernel = FindBusiestKernel(the_case, diagnosis.findings);

  if (whatif == nullptr) {
    diagnosis.replay = Known<ReplayFacts>::Absent(model.why_not());
    return diagnosis;
  }
  diagnosis.replay = Summarize(*whatif);
  if (ranking.together) diagnosis.replay->together = ranking.together;
  diagnosis.replay->half = HalfOnTop(diagnosis.findings, *whatif);
  diagnosis.replay->half_dtype = HalfPrecisionOf(whatif->model()).dtype;
  return diagnosis;
}

}  // namespace hone::doctor
