// SPDX-License-Identifier: Apache-2.0
// blocking-copy: the memory is pinned, and the host waits for the copy all the same.
#include <fmt/format.h>

#include "base/text.h"
#include "doctor/places.h"
#include "doctor/rules/rules.h"
#include "replay/edits/waits.h"
#include "trace/record_again.h"

namespace hone::doctor {

Judgement JudgeBlockingCopy(const Case& the_case) {
  if (the_case.whatif == nullptr) return Judgement::Missing(the_case.why_no_replay);
  if (!the_case.facts.syncs) {
    return Judgement::Missing(the_case.facts.syncs.why_not() + "; " +
                              trace::RecordAgain(the_case.trace.info, trace::Lacking::kDevice));
  }
  if (!the_case.whatif->Find("blocking-copy")) return Judgement::Quiet();
  const replay::Model& model = the_case.whatif->model();
  const trace::HostSlices& host = the_case.trace.host;
  std::uint64_t count = 0;
  Nanos waited = 0;
  trace::RowId longest = trace::kNoRow;
  for (const replay::Task& task : model.graph().tasks) {
    if (ReasonOf(model, task) != replay::WaitReason::kPinnedCopy) continue;
    ++count;
    waited += host.duration_ns[task.row];
    if (longest == trace::kNoRow || host.duration_ns[task.row] > host.duration_ns[longest]) {
      longest = task.row;
    }
  }
  if (count == 0) return Judgement::Quiet();
  const auto steps = static_cast<double>(model.graph().steps);

  Finding finding;
  finding.id = "blocking-copy";
  finding.fix = {"blocking-copy"};
  finding.effort = Effort::kOneWord;
  finding.title = "the host waits for copies to the device that could run by themselves";
  finding.evidence.push_back(fmt::format("waits {}x a step, {} ms of host time",
                                         Times(static_cast<double>(count) / steps),
                                         ThreeDigits(static_cast<double>(waited) / 1e6 / steps)));
  finding.where.push_back(Places(the_case).Of(longest));
  finding.remedy = "batch = batch.to(\"cuda\", non_blocking=True)\n";
  return Judgement::Fires(std::move(finding));
}

}  // namespace hone::doctor
