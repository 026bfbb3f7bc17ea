// SPDX-License-Identifier: Apache-2.0
// small-batch: the device is busy, but its kernels fill a small part of it; or operators on the
// host take their time for calls and weights.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "analyze/roofline.h"
#include "base/text.h"
#include "doctor/places.h"
#include "doctor/rank.h"
#include "doctor/rules/rules.h"
#include "doctor/rules/step_facts.h"
#include "replay/edits/host_growth.h"
#include "trace/record_again.h"

namespace hone::doctor {
namespace {

using trace::RowId;

// Below this the device waits for somebody most of whose time a larger batch may or may not save:
// that is launch-bound's or input-bound's finding, and kernels are small because nobody needs more.
constexpr double kBusy = 0.6;
// Share of the multiprocessors that have a block to run. A kernel on half of them takes as long as
// one with twice the work: below one half a batch twice as large is free, below a quarter four
// times. Kernels of well-sized jobs launch several blocks for each: 94 to 99 % by time in training
// ResNet-50 and GPT-2 on an H200.
constexpr double kHalf = 0.5, kQuarter = 0.25;
// Matrix kernels decide alone where they take at least half of the time.
constexpr double kMatrixDecides = 0.5;
// Of the kernel time, what must carry a launch geometry for a verdict on the whole.
constexpr double kLeastKnown = 0.5;

// Of the device's time, in optimizers, whose work is the same for any batch: where they take a
// third of a step that nothing else is wrong with, most of what they read is read for few samples.
// GPT-2 and ResNet-50 at sensible batches: 1.7 to 4 % on an H200.
constexpr double kOptimizerShare = 0.3;
// And only where a larger batch is surely a third as fast again.
constexpr double kOptimizerSpeedup = 1.3;

struct Coverage {
  double whole = 1, matrix = 1;  // 0 … 1, by time
  double matrix_share = 0;       // of compute kernel time
  double part_wave = 0;          // of kernel time, in kernels with fewer blocks than SMs
  double known = 0;              // of kernel time, with launch geometry
  RowId worst = trace::kNoRow;   // the kernel that leaves most unused
  double worst_blocks = 0;
  int sm_count = -1;
  double in_optimizer = 0;  // of kernel time
};

// Blocks of a launch; 0: not recorded.
double BlocksOf(const trace::Trace& trace, RowId work) {
  const trace::LaunchConfig& launch = trace.launches[trace.device.launch[work]];
  return static_cast<double>(launch.grid[0]) * launch.grid[1] * launch.grid[2];
}

// Share of the multiprocessors that have one of its blocks; negative: not recorded.
double ShareOf(const trace::Trace& trace, RowId work, int sm_count) {
  const double blocks = BlocksOf(trace, work);
  if (sm_count > 0 && blocks > 0) return std::min(blocks / sm_count, 1.0);
  const float per_sm = trace.launches[trace.device.launch[work]].blocks_per_sm;
  return per_sm >= 0 && std::isfinite(per_sm) ? std::min<double>(per_sm, 1.0) : -1.0;
}

Coverage Measure(const Case& the_case, const replay::Model& model) {
  const trace::Trace& trace = the_case.trace;
  const analyze::DeviceTimeline& device = the_case.facts.timeline->main_device();
  const trace::IntervalSet& window = the_case.facts.steps.steady_window;
  Coverage found;
  found.sm_count = trace.devices[device.device].sm_count;
  double all = 0, known = 0, filled = 0, part_wave = 0, matrix = 0, matrix_filled = 0;
  std::vector<double> unused(trace.strings.size(), 0);  // by name
  double most_unused = 0;
  for (RowId w = 0; w < trace.device.size(); ++w) {
    if (trace.device.kind[w] != trace::WorkKind::kKernel ||
        model.classes()[w] != analyze::WorkClass::kCompute ||
        trace.streams[trace.device.stream[w]].device != device.device ||
        !window.Holds(trace.device.start_ns[w])) {
      continue;
    }
    const auto ns = static_cast<double>(trace.device.duration_ns[w]);
    all += ns;
    if (model.InOptimizer(w)) found.in_optimizer += ns;
    const double share = ShareOf(trace, w, found.sm_count);
    if (share < 0) continue;
    known += ns;
    filled += share * ns;
    if (share < 1) part_wave += ns;
    if (analyze::IsMatrixFamily(model.Traits(w).family)) {
      matrix += ns;
      matrix_filled += share * ns;
    }
    double& waste = unused[static_cast<std::uint32_t>(trace.device.name[w])];
    waste += (1 - share) * ns;
    if (waste > most_unused) {
      most_unused = waste;
      found.worst = w;
      found.worst_blocks = BlocksOf(trace, w);
    }
  }
  if (all > 0) found.in_optimizer /= all;
  if (known <= 0) return found;
  // Kernels that run side by side fill the device together: per busy moment, not per kernel.
  const auto busy = static_cast<double>(device.steady.compute_ns);
  const double side_by_side = busy > 0 ? std::max(all / busy, 1.0) : 1.0;
  found.known = known / all;
  found.whole = std::min(filled / known * side_by_side, 1.0);
  found.part_wave = part_wave / known;
  found.matrix_share = matrix / known;
  if (matrix > 0) found.matrix = std::min(matrix_filled / matrix * side_by_side, 1.0);
  return found;
}

constexpr const char* kFix = "small-batch";

// What a larger batch gives, where the replay knows it.
void AddPrediction(const replay::WhatIf& whatif, double compute, bool trains, Finding& finding) {
  const auto& edit = whatif.Find(kFix);
  const double bare = whatif.bare().likely_ns;
  if (!edit) {
    finding.recoverable_ns = Known<double>::Absent(edit.why_not());
    finding.evidence.push_back(
        fmt::format("the device computes {} of a step; no larger batch is predicted: {}",
                    Percent(compute), edit.why_not()));
    return;
  }
  const double step = whatif.Predict({kFix}).likely_ns;
  finding.evidence.push_back(
      fmt::format("the device computes {} of a step; {:.1f}x the {} predicted with {}",
                  Percent(compute), step > 0 ? bare / step : 1, trains ? "samples/s" : "requests/s",
                  (*edit)->Scope(whatif.model())));
  // A finding whose gain is not sure stays: what it says of the kernels is measured.
  if (whatif.SureGain({kFix}) >= kLeastShare * bare) {
    finding.fix = {kFix};
  } else {
    finding.recoverable_ns = Known<double>::Absent("a larger batch surely gives hardly any time");
  }
}

std::string Remedy(bool trains, double times) {
  if (trains) {
    return fmt::format("DataLoader(..., batch_size={:.0f} * batch_size)", times) +
           "   # until samples/s no longer rise\n"
           "# a larger batch changes the optimisation: scale the learning rate (linearly for SGD,\n"
           "# by the square root for Adam) and check the loss\n";
  }
  return "outputs = model(torch.stack(requests))   # several requests in one forward pass\n"
         "# serving: turn on dynamic batching, so that requests that wait go together\n";
}

bool OptimizerOutweighs(const Coverage& cover, const replay::WhatIf& whatif) {
  return cover.in_optimizer >= kOptimizerShare && whatif.Find(kFix) &&
         whatif.bare().likely_ns >= kOptimizerSpeedup * whatif.Predict({kFix}).high_ns;
}

// The kernels fill the device, with work that has nothing to do with samples.
Finding ForTheOptimizer(const Case& the_case, const Coverage& cover) {
  const replay::WhatIf& whatif = *the_case.whatif;
  const replay::Prediction step = whatif.Predict({kFix});
  Finding finding;
  finding.id = "small-batch";
  finding.fix = {kFix};
  finding.title = fmt::format(
      "the optimizer takes {} of the device's time: the batch is too small for the model",
      Percent(cover.in_optimizer));
  finding.confidence = Confidence::kMedium;
  finding.effort = Effort::kOneWord;
  finding.evidence.push_back(fmt::format(
      "what an optimizer does is the same for any batch; {:.1f}x the samples/s predicted with {}",
      step.likely_ns > 0 ? whatif.bare().likely_ns / step.likely_ns : 1,
      (*whatif.Find(kFix))->Scope(whatif.model())));
  if (!whatif.model().steady_optimizer_steps().empty()) {
    const RowId row = whatif.model().steady_optimizer_steps().front().row;
    Place place = Places(the_case).Of(row);
    place.op = std::string(the_case.trace.HostName(row));
    finding.where.push_back(std::move(place));
  }
  finding.remedy = Remedy(true, step.samples > 1 ? step.samples : 2);
  return finding;
}

// On the host the rates of cores are known less well than those of devices: only where a larger
// batch is half as fast again, and where most of the time is the same for any batch.
constexpr double kHostSpeedup = 1.5, kHostShare = 0.5;

Judgement JudgeOnHost(const Case& the_case) {
  if (!the_case.facts.trust.present.shapes) {
    return Judgement::Missing(std::string("the sizes of tensors are not in this trace; ") +
                              trace::RecordAgain(the_case.trace.info, trace::Lacking::kShapes));
  }
  if (the_case.whatif == nullptr) return Judgement::Missing(the_case.why_no_replay);
  if (!the_case.whatif->Find(kFix)) return Judgement::Quiet();
  const replay::Prediction step = the_case.whatif->Predict({kFix});
  const replay::HostGrowth growth(the_case.whatif->model());
  if (the_case.whatif->bare().likely_ns < kHostSpeedup * step.likely_ns ||
      growth.samples_ns() > kHostShare * growth.operators_ns()) {
    return Judgement::Quiet();
  }
  const bool trains = Trains(the_case);
  const auto steps = static_cast<double>(the_case.whatif->model().graph().steps);
  Finding finding;
  finding.id = "small-batch";
  finding.fix = {kFix};
  const bool one_by_one = growth.rounds() > 1;
  finding.title =
      one_by_one
          ? fmt::format("the model gets its samples one by one, {:.0f} times a step",
                        growth.rounds())
          : std::string("operators get few samples at a time: calls and weights take their time");
  finding.confidence = Confidence::kMedium;
  finding.effort = Effort::kOneWord;
  finding.evidence.push_back(fmt::format(
      "of {} ms a step in operators {} go to the samples; the rest would be the same for more of "
      "them: calls, weights that are read, {}",
      ThreeDigits(growth.operators_ns() / 1e6 / steps),
      ThreeDigits(growth.samples_ns() / 1e6 / steps),
      trains ? "gradients that are written, the optimizer" : "tables that are looked up"));
  finding.evidence.push_back(
      fmt::format("{:.1f}x the {} predicted: {}",
                  step.likely_ns > 0 ? the_case.whatif->bare().likely_ns / step.likely_ns : 1,
                  trains ? "samples/s" : "requests/s",
                  (*the_case.whatif->Find(kFix))->Scope(the_case.whatif->model())));
  if (growth.example() != trace::kNoRow) {
    finding.where.push_back(Places(the_case).Of(growth.example()));
  }
  const bool loads = the_case.facts.loader && the_case.facts.loader->per_step_ns;
  finding.remedy = one_by_one
                       ? "outputs = model(torch.stack(samples))   # all of a step in one call\n"
                   : loads || !trains ? Remedy(trains, step.samples > 1 ? step.samples : 2)
                                      : fmt::format(
                                            "# {:.0f} times the samples in a step: rows, points or "
                                            "environments side by side\n",
                                            step.samples > 1 ? step.samples : 2);
  if (one_by_one || !loads) finding.effort = Effort::kFewLines;
  return Judgement::Fires(std::move(finding));
}

}  // namespace

Judgement JudgeSmallBatch(const Case& the_case) {
  if (the_case.trace.device.size() == 0) return JudgeOnHost(the_case);
  const Known<double> compute = ComputeShare(the_case);
  if (!compute) return Judgement::Missing(compute.why_not());
  if (*compute < kBusy) return Judgement::Quiet();
  const Coverage cover = Measure(the_case, the_case.whatif->model());
  if (cover.known < kLeastKnown) {
    return Judgement::Missing(fmt::format(
        "{} of the kernel time says on how many of the multiprocessors it ran; {}",
        Percent(cover.known), trace::RecordAgain(the_case.trace.info, trace::Lacking::kGrids)));
  }
  const bool by_matrix = cover.matrix_share >= kMatrixDecides && cover.matrix < kHalf;
  if (cover.whole >= kHalf && !by_matrix) {
    return OptimizerOutweighs(cover, *the_case.whatif)
               ? Judgement::Fires(ForTheOptimizer(the_case, cover))
               : Judgement::Quiet();
  }

  const bool trains = Trains(the_case);
  const double decides = by_matrix ? std::min(cover.whole, cover.matrix) : cover.whole;
  Finding finding;
  finding.id = "small-batch";
  finding.title =
      by_matrix && cover.matrix <= cover.whole
          ? fmt::format("matrix kernels fill {} of the device: the batch is too small for it",
                        Percent(cover.matrix))
          : fmt::format("kernels fill {} of the device: the batch is too small for it",
                        Percent(cover.whole));
  finding.severity = decides < kQuarter ? Severity::kHigh : Severity::kMedium;
  // A grid says how many multiprocessors have work, not whether memory is the limit already.
  finding.confidence = Confidence::kMedium;
  finding.effort = Effort::kOneWord;
  finding.evidence.push_back(fmt::format("of {} {} have a block to run, by kernel time",
                                         cover.sm_count > 0
                                             ? fmt::format("{} multiprocessors", cover.sm_count)
                                             : "the multiprocessors",
                                         Percent(cover.whole)));
  finding.evidence.push_back(
      fmt::format("{} of the kernel time is in kernels with fewer blocks "
                  "than multiprocessors",
                  Percent(cover.part_wave)));
  if (cover.matrix_share > 0) {
    finding.evidence.push_back(fmt::format("matrix kernels take {} of the kernel time and fill {}",
                                           Percent(cover.matrix_share), Percent(cover.matrix)));
  }
  AddPrediction(*the_case.whatif, *compute, trains, finding);
  if (cover.worst != trace::kNoRow && cover.worst_blocks > 0) {
    Place place;
    place.kernel = std::string(the_case.trace.DeviceName(cover.worst));
    if (the_case.trace.device.op[cover.worst] != trace::kNoRow) {
      place.op = std::string(the_case.trace.HostName(the_case.trace.device.op[cover.worst]));
    }
    finding.where.push_back(place);
    finding.evidence.push_back(fmt::format("most is left unused by a kernel of {:.0f} {}",
                                           cover.worst_blocks,
                                           cover.worst_blocks == 1 ? "block" : "blocks"));
  }
  const double times = the_case.whatif->Predict({kFix}).samples;
  finding.remedy = Remedy(trains, times > 1 ? times : 2);
  return Judgement::Fires(std::move(finding));
}

}  // namespace hone::doctor
