// SPDX-License-Identifier: Apache-2.0
#include "analyze/facts.h"

#include <future>

namespace hone::analyze {
namespace {

// On a second thread where the system gives one, else at the first get().
template <typename Work>
std::future<void> Beside(Work&& work) {
  return std::async(std::launch::async | std::launch::deferred, std::forward<Work>(work));
}

}  // namespace

Facts Analyze(const trace::Trace& trace, const FactsOptions& options) {
  Facts facts;
  std::future<void> steps = Beside([&] { facts.steps = FindSteps(trace); });
  const Lineage lineage(trace);
  const WorkClasses classes(trace);
  steps.get();
  facts.timeline =
      ComputeTimeline(trace, classes, facts.steps.steady_window, facts.steps.hole_spans);
  facts.scale = MeasureScale(facts.steps, facts.timeline);

  // Every analysis writes its own member and reads only what stands above. The two halves take
  // about as long: the device's tables and models here, the host's below.
  std::future<void> device_side = Beside([&] {
    facts.kernels = BuildKernelTable(trace, classes, lineage, options.kernels_by);
    facts.efficiency = MeasureEfficiency(trace, classes, lineage, facts.steps);
    facts.transfers = MeasureTransfers(trace, facts.timeline);
    facts.launches = MeasureLaunches(trace);
    facts.kernel_sizes = MeasureKernelSizes(trace);
    facts.comm = MeasureComm(trace, classes, facts.timeline, facts.steps);
    facts.memory = MeasureMemory(trace, lineage, facts.steps);
  });
  facts.idle = ExplainIdle(trace, facts.timeline, facts.steps, lineage);
  facts.loader = MeasureLoader(trace, facts.steps, facts.idle);
  facts.ops = BuildOpTable(trace, lineage, options.ops_by);
  facts.syncs = FindSyncs(trace, lineage, facts.steps);
  facts.python = MeasurePython(trace, lineage, facts.steps);
  facts.trust = JudgeTrust(trace, facts.steps, facts.timeline);
  device_side.get();
  return facts;
}

}  // namespace hone::analyze
