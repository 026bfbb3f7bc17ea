// SPDX-License-Identifier: Apache-2.0
// layout-conversion: cuDNN turns NCHW into NHWC and back around every convolution.
#include "doctor/rules/rules.h"

namespace hone::doctor {

Judgement JudgeLayoutConversion(const Case& the_case) {
  if (the_case.whatif == nullptr) return Judgement::Missing(the_case.why_no_replay);
  const auto& edit = the_case.whatif->Find("layout-conversion");
  if (!edit) return Judgement::Quiet();
  Finding finding;
  finding.id = "layout-conversion";
  finding.fix = {"layout-conversion"};
  finding.title = "tensors are converted between memory layouts around convolutions";
  finding.evidence.push_back((*edit)->Scope(the_case.whatif->model()));
  finding.needed =
      "model = model.to(memory_format=torch.channels_last)\n"
      "x = x.to(\"cuda\", memory_format=torch.channels_last, non_blocking=True)\n";
  finding.remedy = finding.needed;
  finding.effort = Effort::kFewLines;
  return Judgement::Fires(std::move(finding));
}

}  // namespace hone::doctor
