// SPDX-License-Identifier: Apache-2.0
#include "doctor/rank.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace hone::doctor {
namespace {

using Words = std::vector<std::string_view>;

// Of a symptom's own gain, what must be left after the cause is fixed for it to stand by itself,
// and what the cause must explain of it to stand above it.
constexpr double kOwnShare = 0.3;

// A symptom is what one sees where the cause is the reason. It goes under its cause when little of
// it is left once the cause is fixed; and it stands below a cause whose fix gives back `explains`
// of what its own would: there the special remedy is the right one, the general one a detour.
struct Relation {
  std::string_view symptom, cause;
  double explains = kOwnShare;
  // No model predicts the symptom, and it goes with its cause all the same.
  bool always = false;
};
constexpr std::array kRelations = {
    Relation{"launch-bound", "recompile"},
    Relation{"launch-bound", "anomaly-mode"},
    Relation{"launch-bound", "autotune-in-loop"},
    Relation{"launch-bound", "python-hotspot"},
    Relation{"launch-bound", "checkpoint-stall"},
    Relation{"launch-bound", "host-sync"},
    Relation{"launch-bound", "small-batch"},
    // An optimizer is a part of the launches; it must be most of them.
    Relation{"launch-bound", "unfused-optimizer", 0.6},
    // Both are what it takes to go over tables of which few rows change.
    Relation{"unfused-optimizer", "dense-embedding-gradients"},
    Relation{"small-batch", "dense-embedding-gradients"},
    // Where single samples or elements are called for in a loop, that loop is the reason.
    Relation{"small-batch", "python-hotspot"},
    Relation{"python-hotspot", "input-bound"},
    Relation{"python-hotspot", "checkpoint-stall"},
    Relation{"python-hotspot", "anomaly-mode"},
    Relation{"python-hotspot", "recompile"},
    Relation{"input-bound", "worker-restart"},
    Relation{"allocator-churn", "memory-pressure"},
    Relation{"fragmentation", "memory-pressure"},
    Relation{"layout-conversion", "no-tensor-cores"},
    Relation{"unfused-elementwise", "naive-attention"},
    Relation{"unfused-elementwise", "layout-conversion"},
    // Both are compiled away; where launching is what is slow, fewer kernels are a part of it.
    Relation{"unfused-elementwise", "launch-bound", 1.0},
    Relation{"exposed-comm", "comm-unoverlapped"},
    // A late rank is a part of the time in collectives; it must be most of what they would give.
    Relation{"exposed-comm", "straggler", 0.6},
    Relation{"comm-unoverlapped", "straggler", 0.6},
    // Found in the trace of the late rank, and gone with the reason: why it is late.
    Relation{"straggler", "input-bound"},
    Relation{"straggler", "worker-restart"},
    Relation{"straggler", "host-sync"},
    Relation{"straggler", "python-hotspot"},
    Relation{"straggler", "checkpoint-stall"},
    Relation{"straggler", "recompile"},
    Relation{"straggler", "autotune-in-loop"},
    Relation{"straggler", "allocator-churn"},
    Relation{"straggler", "cpu-oversubscribed"},
    Relation{"straggler", "pageable-copy"},
    Relation{"straggler", "blocking-copy"},
    Relation{"straggler", "copy-unoverlapped"},
    Relation{"straggler", "transfer-bound"},
    Relation{"straggler", "launch-bound"},
    Relation{"straggler", "gpu-throttled"},
    // What a checkpoint copies to the host is its own business.
    Relation{"pageable-copy", "checkpoint-stall"},
    Relation{"host-sync", "checkpoint-stall"},
    Relation{"host-sync", "anomaly-mode"},
    Relation{"host-sync", "autotune-in-loop"},
    Relation{"allocator-churn", "autotune-in-loop"},
    Relation{"python-hotspot", "worker-restart"},
    // What an inference keeps from step to step hangs on the graph that nobody asked for.
    Relation{"memory-growth", "grad-in-inference", kOwnShare, true},
};

Words WordsOf(const Finding& finding) { return {finding.fix.begin(), finding.fix.end()}; }

// Of a finding that sells nothing, what it explains.
Words ModelOf(const Finding& finding) {
  const std::vector<std::string>& words = finding.fix.empty() ? finding.explains : finding.fix;
  return {words.begin(), words.end()};
}

Severity SeverityOf(double share) {
  if (share >= kHighShare) return Severity::kHigh;
  return share >= kMediumShare ? Severity::kMedium : Severity::kLow;
}

// What a finding counts for in the order, as a share of the bare step. One without a predicted time
// stands at the lower end of its severity, a low one in the middle: memory that is wasted is worth
// no less than the smallest gain that is worth a sentence.
double Weight(const Finding& finding, double bare_ns) {
  constexpr double kBeforeAll = 2;  // no gain is more than the step
  if (finding.wrong_results) return kBeforeAll;
  if (finding.recoverable_ns && bare_ns > 0) return *finding.recoverable_ns / bare_ns;
  switch (finding.severity) {
    case Severity::kHigh: return kHighShare;
    case Severity::kMedium: return kMediumShare;
    case Severity::kLow: return (kLeastShare + kMediumShare) / 2;
    case Severity::kInfo: return 0;
  }
  return 0;
}

// Fills what the replay knows. False: fixing it gives nothing back worth a sentence.
bool PredictOne(Finding& finding, const replay::WhatIf& whatif) {
  if (finding.fix.empty()) {
    if (!finding.recoverable_ns && finding.recoverable_ns.why_not() == "not computed") {
      finding.recoverable_ns = Known<double>::Absent("no model predicts this change");
    }
    return true;
  }
  const double bare = whatif.bare().likely_ns;
  const replay::Prediction step = whatif.Predict(WordsOf(finding));
  finding.predicted = step;
  finding.recoverable_ns = bare - step.likely_ns;
  finding.speedup = step.likely_ns > 0 ? Known<double>(bare / step.likely_ns)
                                       : Known<double>::Absent("the predicted step has no length");
  if (bare <= 0) return false;
  const double share = whatif.SureGain(WordsOf(finding)) / bare;
  finding.severity = SeverityOf(share);
  return share >= kLeastShare;
}

Finding* Find(std::vector<Finding>& findings, std::string_view id) {
  const auto found = std::find_if(findings.begin(), findings.end(),
                                  [&](const Finding& finding) { return finding.id == id; });
  return found == findings.end() ? nullptr : &*found;
}

void MergeSymptoms(std::vector<Finding>& findings, const replay::WhatIf* whatif) {
  for (const Relation& relation : kRelations) {
    const Finding* symptom = Find(findings, relation.symptom);
    Finding* cause = Find(findings, relation.cause);
    if (symptom == nullptr || cause == nullptr) continue;
    double left = relation.always ? 0 : 1;
    const Words model = ModelOf(*symptom);
    if (!relation.always && whatif != nullptr && cause->predicted && !cause->fix.empty() &&
        !model.empty()) {
      const double without = whatif->Predict(model).likely_ns;
      const double alone = whatif->bare().likely_ns - without;
      Words both = WordsOf(*cause);
      both.insert(both.end(), model.begin(), model.end());
      // Whoever fixes both has no less than who fixes one, whatever the models make of each other.
      const double with = std::min(whatif->Predict(both).likely_ns, without);
      const double then = cause->predicted->likely_ns - with;
      if (alone > 0) left = then / alone;
    }
    if (left >= kOwnShare) continue;
    cause->same_cause.emplace_back(relation.symptom);
    cause->same_cause.insert(cause->same_cause.end(), symptom->same_cause.begin(),
                             symptom->same_cause.end());
    std::erase_if(findings, [&](const Finding& f) { return f.id == relation.symptom; });
  }
}

// A pause that the program waits through looks like time that others could fill: without a
// synchronization the host would sleep while the device works. What comes from outside comes no
// earlier for it, so what gives little back once the wait is gone is another face of the wait.
void MergeIntoWaits(std::vector<Finding>& findings, const replay::WhatIf& whatif) {
  const auto waits = [](const Finding& finding) { return !finding.explains.empty(); };
  const auto wait = std::find_if(findings.begin(), findings.end(), waits);
  if (wait == findings.end()) return;
  Finding cause = std::move(*wait);
  findings.erase(wait);
  const Words gone = ModelOf(cause);
  const double without = whatif.Predict(gone).likely_ns;
  std::erase_if(findings, [&](const Finding& finding) {
    if (finding.fix.empty() || !finding.recoverable_ns) return false;
    Words both = gone;
    both.insert(both.end(), finding.fix.begin(), finding.fix.end());
    const double left = without - whatif.Predict(both).likely_ns;
    if (left >= kOwnShare * *finding.recoverable_ns) return false;
    cause.same_cause.push_back(finding.id);
    cause.same_cause.insert(cause.same_cause.end(), finding.same_cause.begin(),
                            finding.same_cause.end());
    return true;
  });
  findings.push_back(std::move(cause));
}

// What gives back nothing now but will once the others are fixed: an optimizer's launches behind a
// slow device, or both behind the loader.
void Uncover(std::vector<Finding> hidden, const replay::WhatIf& whatif,
             std::vector<Finding>& findings) {
  Words all;
  for (const Finding& finding : findings) {
    all.insert(all.end(), finding.fix.begin(), finding.fix.end());
  }
  if (all.empty()) return;
  for (Finding& finding : hidden) {
    const double before = whatif.Predict(all).likely_ns;
    Words with = all;
    with.insert(with.end(), finding.fix.begin(), finding.fix.end());
    if (before - whatif.Predict(with).likely_ns < kMediumShare * before) continue;
    all = std::move(with);
    findings.push_back(std::move(finding));
  }
}

// Where both stand by themselves, a cause that explains enough comes first all the same. One that
// no model predicts is taken at its word.
void LiftCauses(std::vector<Finding>& findings) {
  for (const Relation& relation : kRelations) {
    const auto at = [&](std::string_view id) {
      return std::find_if(findings.begin(), findings.end(),
                          [&](const Finding& finding) { return finding.id == id; });
    };
    const auto symptom = at(relation.symptom), cause = at(relation.cause);
    if (cause == findings.end() || symptom == findings.end() || symptom > cause) continue;
    if (cause->recoverable_ns && symptom->recoverable_ns &&
        *cause->recoverable_ns < relation.explains * *symptom->recoverable_ns) {
      continue;
    }
    std::rotate(symptom, cause, cause + 1);
  }
}

// The recorder's cost is no fault of the program: it stands behind what surely is, and before what
// may only be its shadow.
void PlaceObserver(std::vector<Finding>& findings) {
  const auto observer = std::find_if(findings.begin(), findings.end(), [](const Finding& finding) {
    return finding.id == "observer-effect";
  });
  if (observer == findings.end()) return;
  Finding moved = std::move(*observer);
  findings.erase(observer);
  const auto last_high =
      std::find_if(findings.rbegin(), findings.rend(),
                   [](const Finding& finding) { return finding.severity == Severity::kHigh; });
  findings.insert(last_high.base(), std::move(moved));
}

}  // namespace

Ranking Rank(std::vector<Finding> fired, const replay::WhatIf* whatif) {
  Ranking ranking;
  const double bare = whatif == nullptr ? 0 : whatif->bare().likely_ns;
  std::vector<Finding> hidden;
  for (Finding& finding : fired) {
    const bool stands = whatif == nullptr || PredictOne(finding, *whatif);
    (stands ? ranking.findings : hidden).push_back(std::move(finding));
  }
  MergeSymptoms(ranking.findings, whatif);
  if (whatif != nullptr) {
    MergeIntoWaits(ranking.findings, *whatif);
    Uncover(std::move(hidden), *whatif, ranking.findings);
  }
  std::stable_sort(
      ranking.findings.begin(), ranking.findings.end(),
      [&](const Finding& a, const Finding& b) { return Weight(a, bare) > Weight(b, bare); });
  LiftCauses(ranking.findings);
  PlaceObserver(ranking.findings);
  ranking.together =
      Known<replay::Prediction>::Absent("no finding has a fix that can be predicted");
  if (whatif == nullptr) return ranking;
  Words all;
  double before = bare;
  for (Finding& finding : ranking.findings) {
    if (finding.fix.empty()) continue;
    all.insert(all.end(), finding.fix.begin(), finding.fix.end());
    const replay::Prediction step = whatif->Predict(all);
    if (step.likely_ns > 0) finding.speedup_after = before / step.likely_ns;
    before = step.likely_ns;
    ranking.together = step;
  }
  return ranking;
}

}  // namespace hone::doctor
