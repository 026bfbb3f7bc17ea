// SPDX-License-Identifier: Apache-2.0
// anomaly-mode: autograd looks for NaN after every node and keeps a stack for each.
#include "replay/edits/anomaly_mode.h"

#include <fmt/format.h>

#include "base/text.h"
#include "doctor/places.h"
#include "doctor/rules/rules.h"
#include "trace/record_again.h"

namespace hone::doctor {

Judgement JudgeAnomalyMode(const Case& the_case) {
  if (the_case.facts.trust.present.ops == 0) {
    return Judgement::Missing(std::string("no operators in this trace; ") +
                              trace::RecordAgain(the_case.trace.info, trace::Lacking::kOperators));
  }
  if (the_case.whatif == nullptr) return Judgement::Missing(the_case.why_no_replay);
  const replay::Model& model = the_case.whatif->model();
  const replay::AnomalyMode found = replay::LookAtAnomalyMode(model);
  if (!found.On()) return Judgement::Quiet();
  const auto steps = static_cast<double>(model.graph().steps);
  const auto a_step = [&](Nanos time) {
    return ThreeDigits(static_cast<double>(time) / 1e6 / steps);
  };

  Finding finding;
  finding.id = "anomaly-mode";
  finding.fix = {"anomaly-mode"};
  finding.effort = Effort::kOneLine;
  finding.title = "anomaly detection is on: autograd looks for NaN after every node";
  if (found.checked > 0) {
    finding.evidence.push_back(
        fmt::format("of {} nodes of the backward pass a step, {} end in isnan, any and item: "
                    "{} ms a step",
                    Times(static_cast<double>(found.nodes) / steps),
                    Times(static_cast<double>(found.checked) / steps), a_step(found.check_ns)));
  }
  if (found.stack_ns > 0) {
    finding.evidence.push_back(
        fmt::format("the forward pass keeps the call stack of every node as text: {} ms a step",
                    a_step(found.stack_ns)));
  }
  if (found.example != trace::kNoRow) {
    finding.where.push_back(Places(the_case).Of(found.example));
  }
  finding.remedy =
      "torch.autograd.set_detect_anomaly(False)   # or no `with torch.autograd.detect_anomaly():`\n"
      "# Lightning: Trainer(detect_anomaly=False); turn it on only to find where a NaN is born\n";
  return Judgement::Fires(std::move(finding));
}

}  // namespace hone::doctor
