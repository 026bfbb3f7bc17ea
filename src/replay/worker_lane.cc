// SPDX-License-Identifier: Apache-2.0
#include "replay/worker_lane.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "base/median.h"

namespace hone::replay {

// Only hone run marks what workers do.
IdleWorkers::IdleWorkers(const trace::Trace& trace, std::uint32_t thread) {
  if (trace.info.format != trace::Format::kHone || thread >= trace.threads.size()) return;
  std::vector<trace::Interval> making;
  std::map<std::uint32_t, trace::Interval> there;  // by process
  for (trace::RowId i = 0; i < trace.host.size(); ++i) {
    if (trace.host.kind[i] != trace::SliceKind::kAnnotation) continue;
    const std::uint32_t process = trace.threads[trace.host.thread[i]].process;
    if (process == trace.threads[thread].process || trace.HostName(i) != "DataLoader.fetch") {
      continue;
    }
    making.push_back({trace.host.start_ns[i], trace.host.end_ns(i)});
    trace::Interval& span = there.try_emplace(process, making.back()).first->second;
    span.begin_ns = std::min(span.begin_ns, making.back().begin_ns);
    span.end_ns = std::max(span.end_ns, making.back().end_ns);
  }
  std::vector<trace::Interval> spans;
  for (const auto& entry : there) spans.push_back(entry.second);
  making_ = trace::IntervalSet::Union(std::move(making));
  there_ = trace::IntervalSet::Union(std::move(spans));
}

bool IdleWorkers::At(Nanos time) const { return there_.Holds(time) && !making_.Holds(time); }

void AddWorkerLane(const GraphInput& input, Draft& draft) {
  if (draft.tasks.empty() || input.loader != analyze::LoaderMode::kWorkers) return;
  std::vector<Task>& main = draft.tasks[0];
  const IdleWorkers idle(input.trace, draft.lanes[0].row);
  std::vector<Nanos> waits;
  for (const Task& task : main) {
    if (task.kind != TaskKind::kInput) continue;
    waits.push_back(idle.At(task.start_ns) ? 0 : task.duration_ns);
  }
  if (waits.empty()) return;
  const double per_fetch =
      static_cast<double>(draft.window.length()) / static_cast<double>(waits.size());
  const double least = std::max(kWorkersSetPace * per_fetch, kReadyFetchNs.likely);
  if (static_cast<double>(UpperMedian(std::move(waits))) < least) return;
  const auto lane = static_cast<std::uint16_t>(draft.lanes.size());
  draft.lanes.push_back({LaneKind::kWorkers, 0, draft.window.begin_ns});
  std::vector<Task> made;
  Nanos before = draft.window.begin_ns;
  for (std::uint32_t i = 0; i < main.size(); ++i) {
    Task& fetch = main[i];
    if (fetch.kind != TaskKind::kInput) continue;
    const Nanos arrived = fetch.start_ns + fetch.duration_ns;
    Task batch;
    batch.start_ns = before;
    batch.duration_ns = arrived - before;
    batch.row = fetch.row;
    batch.lane = lane;
    batch.kind = TaskKind::kInput;
    made.push_back(batch);
    before = arrived;
    // The fetch itself ends when the batch is there.
    DraftEdge edge;
    edge.to = {0, i};
    edge.from = {lane, static_cast<std::uint32_t>(made.size() - 1)};
    draft.edges.push_back(edge);
    fetch.start_ns = arrived;
    fetch.duration_ns = 0;
  }
  draft.tasks.push_back(std::move(made));
}

}  // namespace hone::replay
