// SPDX-License-Identifier: Apache-2.0
// double-precision: float64 where float32 would do, often by accident.
#include "replay/edits/double_precision.h"

#include <fmt/format.h>

#include "base/text.h"
#include "doctor/places.h"
#include "doctor/rules/rules.h"
#include "trace/record_again.h"

namespace hone::doctor {

Judgement JudgeDoublePrecision(const Case& the_case) {
  const bool device = the_case.trace.device.size() > 0;
  // Kernels have their type in their names.
  if (!device && !the_case.facts.trust.present.shapes) {
    return Judgement::Missing(std::string("the types of tensors are not in this trace; ") +
                              trace::RecordAgain(the_case.trace.info, trace::Lacking::kShapes));
  }
  if (the_case.whatif == nullptr) return Judgement::Missing(the_case.why_no_replay);
  if (!the_case.whatif->Find("double-precision")) return Judgement::Quiet();
  const replay::Model& model = the_case.whatif->model();
  const replay::DoublePrecision found = replay::LookAtDoublePrecision(model);
  const auto steps = static_cast<double>(model.graph().steps);

  Finding finding;
  finding.id = "double-precision";
  finding.fix = {"double-precision"};
  finding.effort = Effort::kFewLines;
  finding.title = "the steps compute in float64";
  finding.evidence.push_back(fmt::format(
      "{} ms of a {} ms step are {} on float64 tensors", ThreeDigits(found.time_ns / steps / 1e6),
      ThreeDigits(model.graph().measured_step_ns() / 1e6), device ? "kernels" : "operators"));
  if (found.longest != trace::kNoRow && device) {
    Place place;
    place.kernel = std::string(the_case.trace.DeviceName(found.longest));
    const trace::RowId op = the_case.trace.device.op[found.longest];
    if (op != trace::kNoRow) place.op = std::string(the_case.trace.HostName(op));
    place.start_ns = the_case.trace.device.start_ns[found.longest];
    place.duration_ns = the_case.trace.device.duration_ns[found.longest];
    finding.where.push_back(std::move(place));
  } else if (found.longest != trace::kNoRow) {
    finding.where.push_back(Places(the_case).Of(found.longest));
  }
  finding.remedy =
      "model.float(); x = x.float()   # where float64 came by accident, most often from NumPy:\n"
      "x = torch.from_numpy(array.astype(\"float32\"))\n";
  return Judgement::Fires(std::move(finding));
}

}  // namespace hone::doctor
