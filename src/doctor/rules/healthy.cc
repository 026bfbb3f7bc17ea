// SPDX-License-Identifier: Apache-2.0
// healthy: nothing found is worth the work, and what the next ceiling is.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "analyze/roofline.h"
#include "base/text.h"
#include "doctor/half_precision.h"
#include "doctor/rank.h"
#include "doctor/rules/rules.h"
#include "doctor/rules/step_facts.h"
#include "trace/record_again.h"

namespace hone::doctor {
namespace {

using analyze::FamilyRow;
using analyze::KernelFamily;
using trace::RowId;

// Of the step without the recorder: compute on the device, or operators on the step's thread where
// there is no device. What idles for a fifth of the time is not healthy, even if no rule says why.
constexpr double kBusy = 0.80;

// Share of the step that its thread spends inside operators.
double OperatorShare(const replay::Model& model) {
  const trace::HostSlices& host = model.trace().host;
  trace::IntervalSet ops;
  for (RowId i = 0; i < host.size(); ++i) {
    if (host.kind[i] == trace::SliceKind::kOp && model.lineage().top_op[i] == i &&
        model.InWindow(i) && model.LaneOf(i) == 0) {
      ops.AppendSorted({host.start_ns[i], host.end_ns(i)});
    }
  }
  const trace::Interval window = model.graph().window;
  return static_cast<double>(ops.LengthWithin(window)) / static_cast<double>(window.length());
}

// Matrix work in TF32 is nothing wrong, and half precision may still be the largest gain there is.
void OfferHalf(const replay::WhatIf& whatif, bool trains, Finding& finding) {
  const Known<replay::Prediction> half = OfferHalfPrecision(whatif, {});
  if (!half) return;
  const double bare = whatif.bare().likely_ns, gain = bare / half->likely_ns;
  const replay::HalfFormat& format = HalfPrecisionOf(whatif.model());
  finding.instead.push_back({std::string(format.fix), *half, gain});
  finding.title = "nothing here is wrong, and half precision is left to try";
  finding.evidence.insert(
      finding.evidence.begin(),
      fmt::format("under torch.autocast(\"cuda\", torch.{}) a step of {:.1f} ms is predicted to "
                  "take {:.1f} ({:.1f}–{:.1f}), {:.1f}x",
                  format.dtype, bare / 1e6, half->likely_ns / 1e6, half->low_ns / 1e6,
                  half->high_ns / 1e6, gain));
  finding.remedy = AutocastCode(
      format, trains,
      fmt::format("{:.1f}x predicted; watch {}", gain, trains ? "the loss" : "the results"));
}

// How near the rows of the roofline come to it, of matrix work or of the rest; absent: no shapes,
// or a device whose peaks are not known.
Known<double> ReachedOf(const analyze::EfficiencyFacts& facts, bool memory_bound) {
  double reached = 0, time = 0;
  if (facts.roofline) {
    for (const analyze::RooflineRow& row : *facts.roofline) {
      if (!row.roofline_share || row.memory_bound != memory_bound) continue;
      reached += *row.roofline_share * static_cast<double>(row.device_ns);
      time += static_cast<double>(row.device_ns);
    }
  }
  if (time <= 0) return Known<double>::Absent("no shapes");
  return reached / time;
}

std::string DeviceCeiling(const Case& the_case, double compute) {
  const analyze::TimelineSplit& steady = the_case.facts.timeline->main_device().steady;
  const auto busy = static_cast<double>(std::max<Nanos>(steady.busy_ns, 1));
  const double comm = static_cast<double>(steady.exposed_comm_ns) / busy;
  std::string text = fmt::format("the device itself: it computes {} of a step", Percent(compute));
  if (comm >= kLeastShare) text += fmt::format(", {} of its time is communication", Percent(comm));
  if (!the_case.facts.efficiency) return text;
  const analyze::EfficiencyFacts& facts = *the_case.facts.efficiency;
  double matrix = 0;
  for (const FamilyRow& row : facts.families) {
    if (analyze::IsMatrixFamily(row.family)) matrix += row.share;
  }
  const bool by_matrix = matrix >= 0.5;
  text += by_matrix ? fmt::format("; matrix kernels take {} of its kernel time", Percent(matrix))
                    : fmt::format("; kernels that move data take {} of its kernel time",
                                  Percent(1 - matrix));
  if (const Known<double> reached = ReachedOf(facts, !by_matrix)) {
    text += fmt::format(", at {} of {}", Percent(*reached),
                        by_matrix ? "the peak" : "the memory bandwidth");
  } else if (by_matrix && facts.matrix_on_ns > 0) {
    const double on =
        static_cast<double>(facts.matrix_on_ns) /
        static_cast<double>(facts.matrix_on_ns + facts.matrix_off_ns + facts.matrix_unknown_ns);
    text += fmt::format(", {} of that on matrix units", Percent(on));
  }
  if (facts.model_flops_utilization) {
    text += fmt::format("; model FLOPs utilization {}", Percent(*facts.model_flops_utilization));
  }
  return text;
}

}  // namespace

Judgement JudgeHealthy(const Case& the_case, const std::vector<Finding>& others) {
  const bool worse = std::any_of(others.begin(), others.end(), [](const Finding& finding) {
    return finding.severity >= Severity::kMedium;
  });
  if (worse) return Judgement::Quiet();
  if (the_case.whatif == nullptr) return Judgement::Missing(the_case.why_no_replay);
  const bool on_device = the_case.facts.timeline.has_value();
  // Without operators and without a device nobody knows what the time went to.
  if (!on_device && the_case.facts.trust.present.ops == 0) {
    return Judgement::Missing(std::string("neither operators nor device work in this trace; ") +
                              trace::RecordAgain(the_case.trace.info, trace::Lacking::kOperators));
  }
  Known<double> compute = ComputeShare(the_case);
  if (!on_device) compute = OperatorShare(the_case.whatif->model());
  if (!compute || *compute < kBusy) return Judgement::Quiet();

  Finding finding;
  finding.id = "healthy";
  finding.severity = Severity::kInfo;
  finding.effort = Effort::kNone;
  finding.title = "no rule finds anything worth changing first";
  finding.evidence.push_back(
      "next ceiling: " +
      (on_device ? DeviceCeiling(the_case, *compute)
                 : fmt::format("the host's own operators, {} of a step; --table ops lists them",
                               Percent(*compute))));
  finding.remedy =
      "# next: less work or faster hardware; hone whatif --list shows what can still be asked\n";
  OfferHalf(*the_case.whatif, Trains(the_case), finding);
  finding.recoverable_ns = 0.0;
  finding.speedup = 1.0;
  return Judgement::Fires(std::move(finding));
}

}  // namespace hone::doctor
