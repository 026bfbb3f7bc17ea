// SPDX-License-Identifier: Apache-2.0
// launch-bound: the device waits for the host to launch.
#include <fmt/format.h>

#include "doctor/rules/rules.h"
#include "doctor/rules/step_facts.h"

namespace hone::doctor {
namespace {

// Below this a larger batch is not worth what it changes about the training.
constexpr double kWorthABatch = 1.15;

// The other remedy, with its own prediction: as many launches for more samples.
void OfferLargerBatch(const replay::WhatIf& whatif, bool trains, Finding& finding) {
  constexpr const char* kOther = "small-batch";
  const double bare = whatif.bare().likely_ns;
  const auto& edit = whatif.Find(kOther);
  const replay::Prediction larger = edit ? whatif.Predict({kOther}) : replay::Prediction{};
  const double gain = larger.likely_ns > 0 ? bare / larger.likely_ns : 1;
  if (gain < kWorthABatch || larger.samples <= 1 ||
      whatif.SureGain({kOther}) < (1 - 1 / kWorthABatch) * bare) {
    finding.remedy += "# or a larger batch\n";
    return;
  }
  const char* what = trains ? "samples/s" : "requests/s";
  finding.instead.push_back({kOther, larger, gain});
  finding.evidence.push_back(fmt::format(
      "{:.1f}x the {} predicted with a batch {:.0f} times as large", gain, what, larger.samples));
  finding.remedy +=
      fmt::format("# or a batch {:.0f} times as large: {:.1f}x the {} predicted{}\n",
                  larger.samples, gain, what, trains ? "; it changes the training" : "");
}

}  // namespace

Judgement JudgeLaunchBound(const Case& the_case) {
  if (the_case.trace.device.size() == 0) return Judgement::Quiet();
  if (the_case.whatif == nullptr) return Judgement::Missing(the_case.why_no_replay);
  if (!the_case.facts.launches) return Judgement::Missing(the_case.facts.launches.why_not());
  const auto& edit = the_case.whatif->Find("launch-bound");
  if (!edit) return Judgement::Quiet();
  const replay::Graph& graph = the_case.whatif->model().graph();
  const auto steps = static_cast<double>(graph.steps);
  double busy = 0, kernels = 0;
  for (const replay::Task& task : graph.tasks) {
    if (task.kind != replay::TaskKind::kKernel) continue;
    busy += static_cast<double>(task.duration_ns);
    ++kernels;
  }
  const double bare = the_case.whatif->bare().likely_ns;

  Finding finding;
  finding.id = "launch-bound";
  finding.fix = {"launch-bound"};
  finding.title = "the host launches kernels more slowly than the device runs them";
  finding.evidence.push_back(fmt::format(
      "{:.0f} kernels a step, {:.1f} us each on average: {:.2f} ms of work in a step of about "
      "{:.2f} ms",
      kernels / steps, kernels > 0 ? busy / kernels / 1e3 : 0, busy / steps / 1e6, bare / 1e6));
  finding.evidence.push_back((*edit)->Scope(the_case.whatif->model()));
  finding.remedy =
      "model = torch.compile(model, mode=\"reduce-overhead\")   # CUDA graphs\n"
      "# or capture the whole step: torch.cuda.graph(g)\n";
  OfferLargerBatch(*the_case.whatif, Trains(the_case), finding);
  finding.effort = Effort::kFewLines;
  finding.confidence = Confidence::kMedium;
  return Judgement::Fires(std::move(finding));
}

}  // namespace hone::doctor
