// SPDX-License-Identifier: Apache-2.0
#include "replay/edits/comm_exposure.h"

#include <algorithm>

#include "analyze/collective_source.h"
#include "trace/interval.h"

namespace hone::replay {
namespace {

using trace::Interval;
using trace::IntervalSet;
using trace::RowId;

struct Sides {  // inside the window
  IntervalSet comm, compute;
  Nanos exposed_ns = 0, free_ns = 0;
  double hideable = 0;
};

Sides Compare(IntervalSet comm, IntervalSet compute) {
  Sides sides;
  const Nanos hidden = trace::IntersectLength(comm, compute);
  sides.exposed_ns = comm.length() - hidden;
  sides.free_ns = compute.length() - hidden;
  if (sides.exposed_ns > 0) {
    sides.hideable =
        std::min(1.0, static_cast<double>(sides.free_ns) / static_cast<double>(sides.exposed_ns));
  }
  sides.comm = std::move(comm);
  sides.compute = std::move(compute);
  return sides;
}

IntervalSet Within(const IntervalSet& set, Interval window) {
  return trace::Intersect(set, IntervalSet::Union({window}));
}

void Count(const Sides& sides, CommExposure& out) {
  out.comm_ns += static_cast<double>(sides.comm.length());
  out.exposed_ns += static_cast<double>(sides.exposed_ns);
  out.compute_ns += static_cast<double>(sides.compute.length());
  out.free_compute_ns += static_cast<double>(sides.free_ns);
}

// False: nothing on any device communicates in the steps.
bool OnDevices(const Model& model, CommExposure& out) {
  const Graph& graph = model.graph();
  const auto device_of = [&](const Task& task) {
    return model.trace().streams[model.trace().device.stream[task.row]].device;
  };
  // The work of the replayed steps, whenever the device came to it.
  std::vector<IntervalSet> comm(model.trace().devices.size()), compute(comm.size());
  for (const Task& task : graph.tasks) {
    if (task.kind != TaskKind::kCollective && task.kind != TaskKind::kKernel) continue;
    const RowId device = device_of(task);
    if (device >= comm.size()) continue;
    (task.kind == TaskKind::kCollective ? comm : compute)[device].AppendSorted(
        {task.start_ns, task.start_ns + task.duration_ns});
  }
  std::vector<Sides> of_device(comm.size());
  double devices = 0;
  for (std::size_t d = 0; d < comm.size(); ++d) {
    if (comm[d].empty()) continue;
    ++devices;
    of_device[d] = Compare(std::move(comm[d]), std::move(compute[d]));
    Count(of_device[d], out);
  }
  if (devices == 0) return false;
  for (double* sum : {&out.comm_ns, &out.exposed_ns, &out.compute_ns, &out.free_compute_ns}) {
    *sum /= devices;
  }
  for (TaskId t = 0; t < graph.tasks.size(); ++t) {
    const Task& task = graph.tasks[t];
    if (task.kind != TaskKind::kCollective) continue;
    const RowId device = device_of(task);
    if (device >= of_device.size()) continue;
    const Interval span{task.start_ns, task.start_ns + task.duration_ns};
    const Nanos exposed = span.length() - of_device[device].compute.LengthWithin(span);
    if (exposed > 0) out.targets.push_back({t, exposed, of_device[device].hideable});
  }
  return true;
}

// Operators of the step's thread that are not themselves collectives.
IntervalSet OperatorsOfStepThread(const Model& model) {
  const trace::HostSlices& host = model.trace().host;
  std::vector<std::uint8_t> judged(model.trace().strings.size(), 0);
  IntervalSet ops;
  for (RowId i = 0; i < host.size(); ++i) {
    if (host.kind[i] != trace::SliceKind::kOp || model.lineage().top_op[i] != i ||
        !model.InWindow(i) || model.LaneOf(i) != 0) {
      continue;
    }
    std::uint8_t& name = judged[static_cast<std::uint32_t>(host.name[i])];
    if (name == 0) {
      const std::string_view text = model.trace().HostName(i);
      name = text.starts_with("c10d::") || text == "record_param_comms" ? 2 : 1;
    }
    if (name == 1) ops.AppendSorted({host.start_ns[i], host.end_ns(i)});
  }
  return ops;
}

// Collectives of the host run on threads of their back end. What of them the step's thread spends
// outside operators, it waits for them.
bool OnHost(const Model& model, CommExposure& out) {
  const Graph& graph = model.graph();
  const analyze::CollectiveSource source(model.trace());
  std::vector<Interval> spans;
  for (const RowId row : source.HostCollectives()) {
    spans.push_back({model.trace().host.start_ns[row], model.trace().host.end_ns(row)});
  }
  const Sides sides = Compare(Within(IntervalSet::Union(std::move(spans)), graph.window),
                              Within(OperatorsOfStepThread(model), graph.window));
  if (sides.comm.empty()) return false;
  out.on_host = true;
  Count(sides, out);
  const IntervalSet exposed = trace::Subtract(sides.comm, sides.compute);
  for (TaskId t = 0; t < graph.tasks.size(); ++t) {
    const Task& task = graph.tasks[t];
    if (task.lane != 0 || task.kind != TaskKind::kHost) continue;
    const Nanos inside = exposed.LengthWithin({task.start_ns, task.start_ns + task.duration_ns});
    if (inside > 0) out.targets.push_back({t, inside, sides.hideable});
  }
  return true;
}

}  // namespace

Known<CommExposure> MeasureExposure(const Model& model) {
  CommExposure exposure;
  if (OnDevices(model, exposure) || OnHost(model, exposure)) return exposure;
  return Known<CommExposure>::Absent("no collective runs in the steps");
}

}  // namespace hone::replay
