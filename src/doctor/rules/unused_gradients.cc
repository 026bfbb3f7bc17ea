// SPDX-License-Identifier: Apache-2.0
// unused-gradients: a teacher, a frozen base or a critic that nobody told autograd to leave out.
#include "replay/edits/unused_gradients.h"

#include <fmt/format.h>

#include "base/text.h"
#include "doctor/places.h"
#include "doctor/rules/rules.h"
#include "trace/record_again.h"

namespace hone::doctor {

Judgement JudgeUnusedGradients(const Case& the_case) {
  if (the_case.facts.trust.present.ops == 0) {
    return Judgement::Missing(std::string("no operators in this trace; ") +
                              trace::RecordAgain(the_case.trace.info, trace::Lacking::kOperators));
  }
  if (the_case.whatif == nullptr) return Judgement::Missing(the_case.why_no_replay);
  if (!the_case.whatif->Find("unused-gradients")) return Judgement::Quiet();
  const replay::UnusedGradients unused = replay::LookAtUnusedGradients(the_case.whatif->model());
  const replay::StaleGradients& found = unused.stale;

  Finding finding;
  finding.id = "unused-gradients";
  finding.fix = {"unused-gradients"};
  finding.title = "the backward pass computes gradients that nobody uses";
  finding.confidence = Confidence::kMedium;
  finding.evidence.push_back(fmt::format(
      "{} of {} gradients add to older ones, in each of {} that follow an optimizer's step: the "
      "step left them as they were",
      WithThousands(found.stale), WithThousands(found.leaves),
      Count(found.judged, "backward pass", "backward passes")));
  if (found.example != trace::kNoRow) {
    finding.where.push_back(Places(the_case).Of(found.example));
  }
  finding.effort = Effort::kOneLine;
  const char* const teacher =
      "with torch.no_grad(): targets = teacher(batch)   # a model that only gives targets\n";
  const char* const frozen =
      "model.base.requires_grad_(False)   # layers that no optimizer updates\n";
  finding.remedy = unused.of_a_model() ? teacher : frozen;
  finding.remedy += unused.of_a_model() ? frozen : teacher;
  finding.remedy +=
      "# a GAN's critic: critic.requires_grad_(False) while the generator learns\n"
      "# were they to learn? then the optimizer does not know them: "
      "optimizer.add_param_group(...)\n";
  return Judgement::Fires(std::move(finding));
}

}  // namespace hone::doctor
