// SPDX-License-Identifier: Apache-2.0
// unfused-elementwise: neighbouring kernels that only move data.
#include <fmt/format.h>

#include "doctor/rules/rules.h"

namespace hone::doctor {

Judgement JudgeUnfusedElementwise(const Case& the_case) {
  if (the_case.whatif == nullptr) return Judgement::Missing(the_case.why_no_replay);
  if (the_case.trace.device.size() == 0) return Judgement::Quiet();
  const auto& edit = the_case.whatif->Find("unfused-elementwise");
  if (!edit) return Judgement::Quiet();
  Finding finding;
  finding.id = "unfused-elementwise";
  finding.fix = {"unfused-elementwise"};
  finding.title = "chains of element-wise kernels move the same data again and again";
  finding.evidence.push_back((*edit)->Scope(the_case.whatif->model()));
  if (the_case.facts.efficiency) {
    for (const analyze::FamilyRow& row : the_case.facts.efficiency->families) {
      if (row.family != analyze::KernelFamily::kElementwise) continue;
      finding.evidence.push_back(fmt::format("{:.0f} % of kernel time is element-wise ({})",
                                             100 * row.share,
                                             analyze::PrecisionName(row.precision)));
      break;
    }
  }
  finding.remedy = "model = torch.compile(model)\n";
  finding.confidence = Confidence::kMedium;
  return Judgement::Fires(std::move(finding));
}

}  // namespace hone::doctor
