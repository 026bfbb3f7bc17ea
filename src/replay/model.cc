// SPDX-License-Identifier: Apache-2.0
#include "replay/model.h"

namespace hone::replay {

using trace::kNoRow;
using trace::RowId;

Model::Model(const trace::Trace& trace, const analyze::Facts& facts, const analyze::SkewFacts* skew)
    : trace_(trace), facts_(facts), skew_(skew), lineage_(trace), calls_(trace), classes_(trace) {}

Known<std::unique_ptr<Model>> Model::Build(const trace::Trace& trace, const analyze::Facts& facts,
                                           const analyze::SkewFacts* skew) {
  std::unique_ptr<Model> model(new Model(trace, facts, skew));
  Known<Graph> graph =
      BuildGraph({trace, facts.steps, model->lineage_, model->calls_, model->classes_,
                  facts.loader ? facts.loader->mode : analyze::LoaderMode::kUnknown});
  if (!graph) return Known<std::unique_ptr<Model>>::Absent(graph.why_not());
  model->graph_ = std::move(*graph);
  model->Index();
  return model;
}

const analyze::RankSkew* Model::own_skew() const {
  if (skew_ == nullptr) return nullptr;
  for (const analyze::RankSkew& rank : skew_->ranks) {
    if (rank.rank == trace_.info.rank) return &rank;
  }
  return nullptr;
}

void Model::Index() {
  std::vector<std::uint8_t> seen(trace_.strings.size(), 0);
  traits_.resize(trace_.strings.size());
  for (RowId w = 0; w < trace_.device.size(); ++w) {
    const auto name = static_cast<std::uint32_t>(trace_.device.name[w]);
    if (seen[name] != 0 || trace_.device.kind[w] != trace::WorkKind::kKernel) continue;
    seen[name] = 1;
    traits_[name] = analyze::ClassifyKernel(trace_.DeviceName(w));
  }
  work_of_.assign(trace_.host.size(), kNoRow);
  for (RowId w = 0; w < trace_.device.size(); ++w) {
    if (trace_.device.api[w] != kNoRow) work_of_[trace_.device.api[w]] = w;
  }
  by_profiler_.assign(trace_.host.size(), 0);
  for (const RowId row : analyze::FindProfilerSyncs(trace_, lineage_, calls_))
    by_profiler_[row] = 1;
  lane_of_thread_.assign(trace_.threads.size(), UINT16_MAX);
  for (std::size_t lane = 0; lane < graph_.lanes.size(); ++lane) {
    if (graph_.lanes[lane].kind != LaneKind::kThread) continue;
    if (graph_.lanes[lane].row < lane_of_thread_.size()) {
      lane_of_thread_[graph_.lanes[lane].row] = static_cast<std::uint16_t>(lane);
    }
  }
  steady_ = facts_.steps.host_window.hull();
  steady_ = {std::min(steady_.begin_ns, graph_.window.begin_ns),
             std::max(steady_.end_ns, graph_.window.end_ns)};
  in_optimizer_.resize(trace_.host.size(), 0);
  for (const OptimizerStep& step : FindOptimizerSteps(trace_)) {
    if (InWindow(step.row)) optimizer_steps_.push_back(step);
    if (InSteadySteps(step.row)) steady_optimizer_steps_.push_back(step);
    const RowId last = trace_.threads[trace_.host.thread[step.row]].last_slice;
    for (RowId i = step.row; i < last && trace_.host.start_ns[i] < trace_.host.end_ns(step.row);
         ++i) {
      if (trace_.host.start_ns[i] >= step.begin_ns) in_optimizer_[i] = 1;
    }
  }
  peaks_ = Known<analyze::DevicePeaks>::Absent("no device in this trace");
  if (facts_.efficiency) peaks_ = facts_.efficiency->peaks;
}

Known<analyze::StepDemand> Model::StepDemand() const {
  const std::uint32_t row = graph_.lanes[0].row;
  if (row >= trace_.threads.size() || trace_.threads[row].process == kNoRow) {
    return Known<analyze::StepDemand>::Absent("the thread that makes the steps is not known");
  }
  const trace::Thread& thread = trace_.threads[row];
  return analyze::ReadStepDemand(trace_, facts_.steps.host_window.hull(),
                                 trace_.processes[thread.process].pid, thread.tid);
}

}  // namespace hone::replay
