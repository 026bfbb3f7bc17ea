// SPDX-License-Identifier: Apache-2.0
#include "replay/graph.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "analyze/first_uses.h"
#include "replay/device_index.h"
#include "replay/device_lanes.h"
#include "replay/draft.h"
#include "replay/host_lanes.h"
#include "replay/worker_lane.h"

namespace hone::replay {
namespace {

using trace::kNoRow;
using trace::RowId;

// Of a step's launches, what may lack its work.
constexpr double kMostWithout = 0.01;

// How many of the steps, from the first on, the file has the work of. A host that was far ahead
// when the recording ended has launched steps that the device never came to: replayed, they would
// take it no time.
std::size_t StepsWithWork(const GraphInput& input) {
  const std::vector<analyze::Step>& all = input.steps.steps;
  if (input.steps.source == analyze::StepSource::kKernelPattern) return all.size();
  const trace::HostSlices& host = input.trace.host;
  std::vector<std::uint8_t> has_work(host.size(), 0);
  Nanos last = INT64_MIN;
  // Where no launch of a kind has work (graphs that a recorder does not link), none that lacks it
  // tells anything.
  bool links_kernels = false, links_graphs = false;
  for (const RowId call : input.trace.device.api) {
    if (call == kNoRow) continue;
    const bool kernel = input.calls[call] == analyze::ApiClass::kLaunch;
    const bool graph = input.calls[call] == analyze::ApiClass::kGraphLaunch;
    links_kernels = links_kernels || kernel;
    links_graphs = links_graphs || graph;
    has_work[call] = 1;
    if (host.parent[call] != kNoRow) has_work[host.parent[call]] = 1;  // a driver call inside one
    // Copies of coming batches, on a stream of their own, are made while kernels stand in line.
    if (kernel || graph) last = std::max(last, host.start_ns[call]);
  }
  if (last == INT64_MIN) return all.size();
  std::vector<std::size_t> launches(all.size(), 0), without(all.size(), 0);
  for (RowId i = 0; i < host.size(); ++i) {
    const analyze::ApiClass what = input.calls[i];
    const RowId parent = host.parent[i];
    const bool tells = (links_kernels && what == analyze::ApiClass::kLaunch) ||
                       (links_graphs && what == analyze::ApiClass::kGraphLaunch);
    if (!tells || (parent != kNoRow && host.kind[parent] == trace::SliceKind::kApi)) continue;
    const auto after = std::upper_bound(
        all.begin(), all.end(), host.start_ns[i],
        [](Nanos time, const analyze::Step& step) { return time < step.host_span.begin_ns; });
    if (after == all.begin() || host.start_ns[i] >= (after - 1)->host_span.end_ns) continue;
    const auto step = static_cast<std::size_t>(after - 1 - all.begin());
    ++launches[step];
    if (has_work[i] == 0 && host.start_ns[i] > last) ++without[step];
  }
  std::size_t end = all.size();
  while (end > 0 && static_cast<double>(without[end - 1]) >
                        kMostWithout * static_cast<double>(launches[end - 1])) {
    --end;
  }
  return end;
}

// Steady steps in a row, neighbours all: as many as fit from the first of the longest run on, and
// of all such the ones whose mean is nearest to that of all to choose from. The first ones may
// still be settling, or wait for a loader that is. `end`: of those that may be chosen, more than
// the warm-up.
struct Chosen {
  std::size_t first = 0, count = 1;
};
Chosen ChooseSteps(const GraphInput& input, std::size_t end) {
  const std::vector<analyze::Step>& all = input.steps.steps;
  const trace::DeviceWork& device = input.trace.device;
  const auto work_before = [&](Nanos time) {
    return static_cast<std::size_t>(
        std::lower_bound(device.start_ns.begin(), device.start_ns.end(), time) -
        device.start_ns.begin());
  };
  // Counted on the clock of the steps, replayed from what the host did in them.
  const auto fits = [&](std::size_t first, std::size_t count) {
    return work_before(all[first + count - 1].span.end_ns) -
               work_before(all[first].span.begin_ns) <=
           kMostWork;
  };
  const std::size_t begin = input.steps.warm_up_count;
  std::vector<std::size_t> run_end(end, end);  // of the neighbours a step is one of
  for (std::size_t i = end - 1; i > begin; --i) {
    run_end[i - 1] = all[i].before == analyze::Before::kNeighbour ? run_end[i] : i;
  }
  Chosen chosen{begin, 1};
  for (std::size_t i = begin; i < end; i = run_end[i]) {
    if (run_end[i] - i > run_end[chosen.first] - chosen.first) chosen.first = i;
  }
  const std::size_t longest = run_end[chosen.first] - chosen.first;
  while (chosen.count < longest && fits(chosen.first, chosen.count + 1)) ++chosen.count;
  const auto length = [&](std::size_t first, std::size_t count) {
    return static_cast<double>(all[first + count - 1].span.end_ns - all[first].span.begin_ns) /
           static_cast<double>(count);
  };
  const trace::Interval choice{all[begin].span.begin_ns, all[end - 1].span.end_ns};
  const double mean = static_cast<double>(input.steps.steady_window.LengthWithin(choice)) /
                      static_cast<double>(end - begin);
  const auto distance = [&](std::size_t first) {
    return std::abs(length(first, chosen.count) - mean);
  };
  for (std::size_t first = begin; first + chosen.count <= end; ++first) {
    if (run_end[first] - first < chosen.count) continue;
    if (distance(first) < distance(chosen.first) && fits(first, chosen.count)) chosen.first = first;
  }
  return chosen;
}

void AddLoading(const GraphInput& input, Graph& graph) {
  for (const analyze::FirstUse& use : analyze::FindFirstUses(input.trace, input.calls)) {
    const TaskId task = graph.of_host[use.call];
    if (task == kNoTask || graph.tasks[task].kind != TaskKind::kLaunch) continue;
    graph.loading_ns.resize(graph.tasks.size(), 0);
    graph.loading_ns[task] = std::min(use.loading_ns, graph.tasks[task].duration_ns);
  }
}

}  // namespace

Graph Merge(const trace::Trace& trace, Draft draft) {
  Graph graph;
  graph.window = draft.window;
  graph.of_host.assign(trace.host.size(), kNoTask);
  graph.of_device.assign(trace.device.size(), kNoTask);

  std::vector<Place> order;
  for (std::size_t lane = 0; lane < draft.tasks.size(); ++lane) {
    const auto middle = static_cast<std::ptrdiff_t>(order.size());
    for (std::uint32_t i = 0; i < draft.tasks[lane].size(); ++i)
      order.push_back({static_cast<std::uint16_t>(lane), i});
    // Lanes are in time order, hosts stand before devices: on a tie the call comes before its work.
    std::inplace_merge(
        order.begin(), order.begin() + middle, order.end(), [&](const Place& a, const Place& b) {
          return draft.tasks[a.lane][a.index].start_ns < draft.tasks[b.lane][b.index].start_ns;
        });
  }
  std::vector<std::vector<TaskId>> id_of(draft.tasks.size());
  for (std::size_t lane = 0; lane < draft.tasks.size(); ++lane) {
    id_of[lane].resize(draft.tasks[lane].size());
  }
  graph.tasks.reserve(order.size());
  for (const Place& place : order) {
    const Task& task = draft.tasks[place.lane][place.index];
    const auto id = static_cast<TaskId>(graph.tasks.size());
    id_of[place.lane][place.index] = id;
    if (draft.lanes[task.lane].kind == LaneKind::kStream) {
      graph.of_device[task.row] = id;
    }
    graph.before.push_back(place.index == 0 ? kNoTask : id_of[place.lane][place.index - 1]);
    graph.tasks.push_back(task);
  }
  for (RowId row = 0; row < trace.host.size(); ++row) {
    const Place& place = draft.of_call[row];
    if (place.lane != kNoLane) graph.of_host[row] = id_of[place.lane][place.index];
  }

  struct Resolved {
    TaskId to;
    Edge edge;
  };
  std::vector<Resolved> resolved;
  std::vector<const DraftEdge*> dropped;
  std::vector<std::uint8_t> bound(graph.tasks.size(), 0);  // by task: a wait that has its work
  for (const DraftEdge& draft_edge : draft.edges) {
    const TaskId to = id_of[draft_edge.to.lane][draft_edge.to.index];
    const TaskId from = draft_edge.from_work != kNoRow
                            ? graph.of_device[draft_edge.from_work]
                            : id_of[draft_edge.from.lane][draft_edge.from.index];
    if (from == kNoTask || (from >= to && draft_edge.laps == 0)) {
      if (draft_edge.waited_ns > 0) dropped.push_back(&draft_edge);
      continue;
    }
    resolved.push_back(
        {to,
         {from, draft_edge.from_start, draft_edge.lag_ns, draft_edge.laps, draft_edge.ready_ns}});
    if (draft_edge.waited_ns > 0) bound[to] = 1;
    if (draft_edge.laps != kUnseenLap) graph.laps = std::max(graph.laps, draft_edge.laps);
  }
  // A wait for work that is not in the graph stays with the call.
  for (const DraftEdge* edge : dropped) {
    const TaskId to = id_of[edge->to.lane][edge->to.index];
    if (graph.before[to] == kNoTask || std::exchange(bound[to], 1) != 0) continue;
    graph.tasks[graph.before[to]].duration_ns += edge->waited_ns;
  }
  graph.first_edge.assign(graph.tasks.size() + 1, 0);
  for (const Resolved& r : resolved) ++graph.first_edge[r.to + 1];
  for (std::size_t t = 0; t < graph.tasks.size(); ++t) {
    graph.first_edge[t + 1] += graph.first_edge[t];
  }
  graph.edges.resize(resolved.size());
  std::vector<std::uint32_t> at(graph.first_edge.begin(), graph.first_edge.end() - 1);
  for (const Resolved& r : resolved) graph.edges[at[r.to]++] = r.edge;
  graph.lanes = std::move(draft.lanes);
  return graph;
}

Known<Graph> BuildGraph(const GraphInput& input) {
  if (input.steps.steady_count() == 0) {
    return Known<Graph>::Absent("no steps to replay: " + (input.steps.why_none.empty()
                                                              ? std::string("none is steady")
                                                              : input.steps.why_none));
  }
  const std::size_t with_work = StepsWithWork(input);
  if (with_work <= input.steps.warm_up_count) {
    return Known<Graph>::Absent(
        "no steps to replay: the trace ends before the device has run what the first steady one "
        "launched; record until the device is done");
  }
  Draft draft;
  const Chosen chosen = ChooseSteps(input, with_work);
  const analyze::Step& first = input.steps.steps[chosen.first];
  const analyze::Step& last = input.steps.steps[chosen.first + chosen.count - 1];
  draft.window = {first.host_span.begin_ns, last.host_span.end_ns};
  if (draft.window.length() <= 0) return Known<Graph>::Absent("the steps have no length");
  const SharedDevice shared(input.trace, input.classes);
  const DeviceIndex index(input.trace, input.calls, shared);
  AddHostLanes(input, index, draft);
  if (draft.lanes.empty()) {  // device records only
    draft.lanes.push_back({LaneKind::kThread, 0, draft.window.begin_ns});
    draft.tasks.emplace_back();
    draft.of_call.assign(input.trace.host.size(), {kNoLane, 0});
  }
  AddWorkerLane(input, draft);
  const DeviceLanes device = AddDeviceLanes(input, shared, draft);
  Graph graph = Merge(input.trace, std::move(draft));
  graph.steps = chosen.count;
  graph.first_step = chosen.first - input.steps.warm_up_count;
  graph.device_clock =
      input.steps.device_clock || input.steps.source == analyze::StepSource::kKernelPattern;
  graph.begin_ns = first.span.begin_ns;
  graph.measured_ns = last.span.end_ns - first.span.begin_ns;
  graph.all_steps = input.steps.steady_count();
  graph.launch_lag_ns = device.launch_lag_ns;
  graph.turnaround_ns = device.turnaround_ns;
  graph.unlinked = device.unlinked;
  AddLoading(input, graph);
  return graph;
}

}  // namespace hone::replay
