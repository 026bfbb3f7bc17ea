// SPDX-License-Identifier: Apache-2.0
// Model: a trace, its facts and its graph, together with what edits ask of single rows.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "analyze/api_class.h"
#include "analyze/comm.h"
#include "analyze/facts.h"
#include "analyze/kernel_family.h"
#include "analyze/lineage.h"
#include "analyze/machine_counters.h"
#include "analyze/work_class.h"
#include "base/known.h"
#include "replay/graph.h"
#include "replay/optimizer_steps.h"
#include "trace/trace.h"

namespace hone::replay {

// The trace and the facts must outlive it.
class Model {
 public:
  // Absent when there is nothing to replay (no steps).
  // `skew` (may be null): what the traces of several ranks show; must outlive it too.
  static Known<std::unique_ptr<Model>> Build(const trace::Trace& trace, const analyze::Facts& facts,
                                             const analyze::SkewFacts* skew = nullptr);

  const trace::Trace& trace() const { return trace_; }
  const analyze::Facts& facts() const { return facts_; }
  const analyze::SkewFacts* skew() const { return skew_; }
  // Of the rank that this trace is of; null: the ranks were not compared, or it is not among them.
  const analyze::RankSkew* own_skew() const;
  const analyze::Lineage& lineage() const { return lineage_; }
  const analyze::ApiCalls& calls() const { return calls_; }
  const analyze::WorkClasses& classes() const { return classes_; }
  const Graph& graph() const { return graph_; }

  // What the thread that makes the steps and its process wanted of the cores. Absent also where a
  // trace has device records only: lane 0 then stands for no thread. O(counters).
  Known<analyze::StepDemand> StepDemand() const;

  // Decided once per distinct name.
  const analyze::KernelTraits& Traits(trace::RowId work) const {
    return traits_[static_cast<std::uint32_t>(trace_.device.name[work])];
  }
  // The last work that a call launched; kNoRow: none.
  trace::RowId WorkOf(trace::RowId call) const { return work_of_[call]; }
  // Those of the window, on threads that have a lane.
  const std::vector<OptimizerStep>& optimizer_steps() const { return optimizer_steps_; }
  // Those of all steady steps, which may be many more than are replayed.
  const std::vector<OptimizerStep>& steady_optimizer_steps() const {
    return steady_optimizer_steps_;
  }
  // Whether an optimizer itself launched the work.
  bool InOptimizer(trace::RowId work) const {
    const trace::RowId call = trace_.device.api[work];
    return call != trace::kNoRow && in_optimizer_[call] != 0;
  }
  // Whether the profiler itself issued the waiting call.
  bool ByProfiler(trace::RowId call) const { return by_profiler_[call] != 0; }
  // Peaks of the device that leads; absent: not in the table.
  const Known<analyze::DevicePeaks>& peaks() const { return peaks_; }

  // Rows of Trace::host inside the window whose kind and name fulfil `wanted`, outermost only, on
  // threads that have a lane. The name is judged once per distinct string.
  template <typename Wanted>
  std::vector<trace::RowId> HostRows(trace::SliceKind kind, Wanted&& wanted) const {
    std::vector<std::uint8_t> judged(trace_.strings.size(), 0);
    std::vector<trace::RowId> rows;
    for (trace::RowId i = 0; i < trace_.host.size(); ++i) {
      if (trace_.host.kind[i] != kind || !InWindow(i)) continue;
      std::uint8_t& name = judged[static_cast<std::uint32_t>(trace_.host.name[i])];
      if (name == 0) name = wanted(trace_.HostName(i)) ? 2 : 1;
      if (name == 1) continue;
      if (!rows.empty() && trace_.host.thread[rows.back()] == trace_.host.thread[i] &&
          trace_.host.start_ns[i] < trace_.host.end_ns(rows.back())) {
        continue;
      }
      rows.push_back(i);
    }
    return rows;
  }
  bool InWindow(trace::RowId host_row) const {
    return LaneOf(host_row) != UINT16_MAX &&
           trace_.host.start_ns[host_row] >= graph_.window.begin_ns &&
           trace_.host.start_ns[host_row] < graph_.window.end_ns;
  }
  // As InWindow, of all steady steps: what a program does may show only in more than are replayed.
  bool InSteadySteps(trace::RowId host_row) const {
    return LaneOf(host_row) != UINT16_MAX && trace_.host.start_ns[host_row] >= steady_.begin_ns &&
           trace_.host.start_ns[host_row] < steady_.end_ns;
  }
  std::uint16_t LaneOf(trace::RowId host_row) const {
    return lane_of_thread_[trace_.host.thread[host_row]];
  }

 private:
  Model(const trace::Trace& trace, const analyze::Facts& facts, const analyze::SkewFacts* skew);
  void Index();

  const trace::Trace& trace_;
  const analyze::Facts& facts_;
  const analyze::SkewFacts* skew_;
  const analyze::Lineage lineage_;
  const analyze::ApiCalls calls_;
  const analyze::WorkClasses classes_;
  Graph graph_;
  std::vector<analyze::KernelTraits> traits_;  // by StringId
  trace::Interval steady_;                     // of the host; the window lies in it
  std::vector<OptimizerStep> optimizer_steps_, steady_optimizer_steps_;
  std::vector<std::uint8_t> in_optimizer_;  // by host row
  std::vector<std::uint8_t> by_profiler_;   // by host row
  std::vector<trace::RowId> work_of_;       // by host row
  std::vector<std::uint16_t> lane_of_thread_;
  Known<analyze::DevicePeaks> peaks_;
};

}  // namespace hone::replay
