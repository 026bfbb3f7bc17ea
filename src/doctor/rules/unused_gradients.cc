// SPDX-License-Identifier: Apache-2.0
// unused-gradients: a teacher, a frozen base or a critic that nobody told autograd to leave out.
#include "replay/edits/unused_gradients.h"

#include <fmt/format.h>

#include "base/text.h"
#include "doctor/places.h"
#include "doctor/rules/rules.h"
#include "trace/record_again.h"

namespace hone::doctor {
namespace {

std::string Remedy(const replay::UnusedGradients& unused) {
  // What learns in a pass of its own must not be frozen for good.
  if (unused.stale.set_elsewhere) {
    return "critic.requires_grad_(False)   # while the generator learns, True again for its own "
           "step\n"
           "torch.autograd.grad(loss, inputs)   # where the gradient of inputs is all that is "
           "asked for\n";
  }
  const std::string teacher =
      "with torch.no_grad(): targets = teacher(batch)   # a model that only gives targets\n";
  const std::string frozen =
      "model.base.requires_grad_(False)   # layers that no optimizer updates\n";
  // Where all were reset, what follows a backbone learns: it is no model of its own.
  const bool of_a_model = unused.of_a_model() && !unused.stale.by_sizes;
  return (of_a_model ? teacher + frozen : frozen + teacher) +
         "# an optimizer updates them now and then? then nothing is wrong;\n"
         "# in every step? then its zero_grad() is missing\n";
}

}  // namespace

Judgement JudgeUnusedGradients(const Case& the_case) {
  if (the_case.facts.trust.present.ops == 0) {
    return Judgement::Missing(std::string("no operators in this trace; ") +
                              trace::RecordAgain(the_case.trace.info, trace::Lacking::kOperators));
  }
  if (the_case.whatif == nullptr) return Judgement::Missing(the_case.why_no_replay);
  if (!the_case.whatif->Find("unused-gradients")) return Judgement::Quiet();
  const replay::UnusedGradients unused = replay::LookAtUnusedGradients(the_case.whatif->model());
  const replay::StaleGradients& found = unused.stale;
  if (found.half_reset()) return Judgement::Quiet();  // missing-zero-grad tells

  Finding finding;
  finding.id = "unused-gradients";
  finding.fix = {"unused-gradients"};
  finding.title = "the backward pass computes gradients that nobody uses";
  finding.confidence = Confidence::kMedium;
  finding.evidence.push_back(
      found.by_sizes
          ? fmt::format("{} of {} gradients are of sizes that no optimizer goes over",
                        WithThousands(found.stale), WithThousands(found.leaves))
          : fmt::format("{} of {} gradients add to older ones, in each of {} that follow an "
                        "optimizer's step: nobody reset them since",
                        WithThousands(found.stale), WithThousands(found.leaves),
                        Count(found.judged, "backward pass", "backward passes")));
  if (found.example != trace::kNoRow) {
    finding.where.push_back(Places(the_case).Of(found.example));
  }
  finding.effort = Effort::kOneLine;
  finding.remedy = Remedy(unused);
  return Judgement::Fires(std::move(finding));
}

}  // namespace hone::doctor
