// SPDX-License-Identifier: Apache-2.0
// grad-in-inference: forward passes without a backward record what one would need.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "doctor/places.h"
#include "doctor/rank.h"
#include "doctor/rules/rules.h"
#include "doctor/rules/step_facts.h"
#include "replay/edits/grad_mode.h"
#include "trace/record_again.h"

namespace hone::doctor {
namespace {

// What a forward pass holds above what stands between steps: with grad mode on, every activation.
void AddMemory(const Case& the_case, Finding& finding) {
  if (!the_case.facts.memory) return;
  for (const analyze::DeviceMemory& device : the_case.facts.memory->devices) {
    if (device.at_step_end.empty()) continue;
    const Bytes between = *std::min_element(device.at_step_end.begin(), device.at_step_end.end());
    const Bytes held = device.peak_allocated - between;
    if (held <= 0) continue;
    finding.evidence.push_back(
        fmt::format("the peak is {} above what is allocated between steps; without grad mode "
                    "activations are freed as soon as they were read",
                    HumanBytes(static_cast<double>(held))));
    return;
  }
}

bool GivesTime(const replay::WhatIf& whatif) {
  return whatif.SureGain({"grad-in-inference"}) >= kLeastShare * whatif.bare().likely_ns;
}

}  // namespace

Judgement JudgeGradInInference(const Case& the_case) {
  if (the_case.facts.trust.present.ops == 0) {
    return Judgement::Missing(std::string("no operators in this trace; ") +
                              trace::RecordAgain(the_case.trace.info, trace::Lacking::kOperators));
  }
  if (the_case.whatif == nullptr) return Judgement::Missing(the_case.why_no_replay);
  if (Trains(the_case)) return Judgement::Quiet();
  const replay::GradMode grad = replay::LookAtGradMode(
      the_case.trace, the_case.whatif->model().lineage(), the_case.facts.steps.host_window.hull());
  const double steps = static_cast<double>(std::max<std::size_t>(the_case.steps(), 1));
  if (!grad.Builds(steps)) return Judgement::Quiet();

  Finding finding;
  finding.id = "grad-in-inference";
  finding.title = "inference runs with grad mode on and builds an autograd graph nobody uses";
  finding.severity = Severity::kMedium;
  finding.effort = Effort::kOneLine;
  finding.evidence.push_back(fmt::format(
      "about {:.0f} autograd nodes are made a step, and the {} have no backward pass "
      "and no optimizer",
      static_cast<double>(grad.makers.size()) / steps, Count(the_case.steps(), "steady step")));
  finding.evidence.push_back(
      fmt::format("{} of the outermost operators ran with grad mode on",
                  Percent(static_cast<double>(grad.on) / static_cast<double>(grad.ops))));
  AddMemory(the_case, finding);
  if (const double kept = replay::KeptOnHost(the_case.facts); kept > 0) {
    finding.evidence.push_back(
        fmt::format("host memory grows by {} with every step: what comes out of one step and goes "
                    "into the next keeps the graphs of all steps before it",
                    HumanBytes(kept)));
  }
  const trace::RowId example = the_case.whatif->model().lineage().top_op[grad.makers.front()];
  if (example != trace::kNoRow) finding.where.push_back(Places(the_case).Of(example));
  // Where the device is what takes the time it is memory that is given back.
  if (GivesTime(*the_case.whatif)) {
    finding.fix = {"grad-in-inference"};
  } else {
    finding.recoverable_ns = Known<double>::Absent(
        "it gives back memory; what keeping activations costs in time is not known");
  }
  finding.remedy =
      "with torch.inference_mode():   # or torch.no_grad() where outputs meet autograd later\n"
      "    out = model(x)\n";
  return Judgement::Fires(std::move(finding));
}

}  // namespace hone::doctor
