// SPDX-License-Identifier: Apache-2.0
// launch-bound: the device waits for the host to launch.
#include <fmt/format.h>

#include "doctor/rules/rules.h"

namespace hone::doctor {

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
      "# or capture the whole step: torch.cuda.graph(g); or a larger batch\n";
  finding.effort = Effort::kFewLines;
  finding.confidence = Confidence::kMedium;
  return Judgement::Fires(std::move(finding));
}

}  // namespace hone::doctor
