// SPDX-License-Identifier: Apache-2.0
// missing-zero-grad: nothing resets the gradients between two steps of the optimizer.
#include <fmt/format.h>

#include <utility>

#include "base/text.h"
#include "doctor/places.h"
#include "doctor/rules/rules.h"
#include "replay/edits/stale_gradients.h"
#include "trace/record_again.h"

namespace hone::doctor {

Judgement JudgeMissingZeroGrad(const Case& the_case) {
  if (the_case.facts.trust.present.ops == 0) {
    return Judgement::Missing(std::string("no operators in this trace; ") +
                              trace::RecordAgain(the_case.trace.info, trace::Lacking::kOperators));
  }
  if (the_case.whatif == nullptr) return Judgement::Missing(the_case.why_no_replay);
  const replay::Model& model = the_case.whatif->model();
  const replay::StaleGradients found = replay::LookAtStaleGradients(model);
  if (!found.none_reset() && !found.half_reset()) return Judgement::Quiet();

  Finding finding;
  finding.id = "missing-zero-grad";
  const std::string some = found.none_reset() ? std::string("the")
                                              : fmt::format("{} of {}", WithThousands(found.stale),
                                                            WithThousands(found.leaves));
  finding.title = fmt::format(
      "nothing resets {} gradients: every step adds up those of all steps before it", some);
  finding.wrong_results = true;
  finding.severity = Severity::kHigh;
  finding.effort = Effort::kOneLine;
  finding.evidence.push_back(fmt::format(
      "{} {} gradients add to older ones, in each of {} that follow an optimizer's step, and "
      "nothing sets one of them to None or to zero in between",
      found.none_reset() ? "all" : WithThousands(found.stale),
      found.none_reset() ? WithThousands(found.leaves) : "of " + WithThousands(found.leaves),
      Count(found.judged, "backward pass", "backward passes")));
  if (!found.none_reset()) {
    finding.evidence.push_back(fmt::format("optimizers step {} and call zero_grad() {}",
                                           Count(found.steps, "time"),
                                           Count(found.resets, "time")));
  }
  const trace::RowId step = model.steady_optimizer_steps().front().row;
  Place place = Places(the_case).Of(step);
  place.op = the_case.trace.HostName(step);
  finding.where.push_back(std::move(place));
  finding.recoverable_ns =
      Known<double>::Absent("it costs next to no time; what the steps learn is wrong");
  finding.remedy =
      "optimizer.zero_grad()   # once for every optimizer.step(), before loss.backward()\n";
  return Judgement::Fires(std::move(finding));
}

}  // namespace hone::doctor
