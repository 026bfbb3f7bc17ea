// SPDX-License-Identifier: Apache-2.0
#include "replay/worker_lane.h"

#include <algorithm>

#include "base/median.h"

namespace hone::replay {

void AddWorkerLane(const GraphInput& input, Draft& draft) {
  if (draft.tasks.empty() || input.loader != analyze::LoaderMode::kWorkers) return;
  std::vector<Task>& main = draft.tasks[0];
  std::vector<Nanos> waits;
  for (const Task& task : main) {
    if (task.kind == TaskKind::kInput) waits.push_back(task.duration_ns);
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
