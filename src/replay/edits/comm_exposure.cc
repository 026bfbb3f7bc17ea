// SPDX-License-Identifier: Apache-2.0
#include "replay/edits/comm_exposure.h"

#include <algorithm>
#include <cmath>

#include "analyze/collective_source.h"
#include "analyze/comm_transfer.h"
#include "trace/interval.h"

namespace hone::replay {
namespace {

using trace::Interval;
using trace::IntervalSet;
using trace::RowId;

// A bucket of DistributedDataParallel, unless it was told otherwise: as many at least would become
// of one large message that overlaps.
constexpr double kBucketBytes = 25.0 * 1024 * 1024;

struct Sides {  // inside the window
  IntervalSet comm, compute;
  Nanos exposed_ns = 0, free_ns = 0;
};

Sides Compare(IntervalSet comm, IntervalSet compute) {
  Sides sides;
  const Nanos hidden = trace::IntersectLength(comm, compute);
  sides.exposed_ns = comm.length() - hidden;
  sides.free_ns = compute.length() - hidden;
  sides.comm = std::move(comm);
  sides.compute = std::move(compute);
  return sides;
}

// How long a run waited for other ranks, from its start.
struct Wait {
  Nanos sure_ns = 0, doubtful_ns = 0;  // doubtful: behind the sure part
};

// By CommFacts::runs. Where the traces of all ranks of a group are there, waiting is known; else
// what the bytes surely did not need is in doubt.
std::vector<Wait> WaitsOf(const Model& model, CommExposure& out) {
  const analyze::CommFacts& comm = *model.facts().comm;
  std::vector<Wait> waits(comm.runs.size());
  for (const analyze::CollectiveRun& run : comm.runs) {
    out.ranks = std::max(out.ranks, run.group_size);
  }
  if (out.ranks < 0) out.ranks = model.trace().info.world_size;
  const analyze::RankSkew* own = model.own_skew();
  if (own != nullptr) out.given = static_cast<std::int64_t>(model.skew()->ranks.size());
  if (model.skew() != nullptr && model.skew()->complete && out.given < out.ranks) {
    out.given = out.ranks;  // groups overlap; each is there in full
  }
  const bool known = own != nullptr && own->waits.size() == comm.runs.size();
  std::vector<Nanos> bounds;
  if (!out.all_given()) bounds = analyze::BoundTransfers(comm);
  for (std::size_t i = 0; i < waits.size(); ++i) {
    if (known && own->waits[i] > 0) waits[i].sure_ns = own->waits[i];
    if (bounds.empty() || comm.runs[i].group_size == 1) continue;
    waits[i].doubtful_ns =
        std::max<Nanos>(0, comm.runs[i].duration_ns - bounds[i] - waits[i].sure_ns);
  }
  return waits;
}

double Share(double part, double of) { return of > 0 ? std::min(1.0, part / of) : 0; }

IntervalSet Within(const IntervalSet& set, Interval window) {
  return trace::Intersect(set, IntervalSet::Union({window}));
}

void Count(const Sides& sides, CommExposure& out) {
  out.comm_ns += static_cast<double>(sides.comm.length());
  out.exposed_ns += static_cast<double>(sides.exposed_ns);
  out.compute_ns += static_cast<double>(sides.compute.length());
  out.free_compute_ns += static_cast<double>(sides.free_ns);
}

// What can be hidden of each role on one device. Gradients exist from backward on: the first
// message waits for its part of them, and behind the last one nothing is left to compute. Nothing
// hides what the next layer needs at once.
class Hiding {
 public:
  void Gradients(double bytes) {
    ++messages_;
    bytes_ += bytes;
  }
  void Settle(const Sides& sides, const IntervalSet& backward, const CommRoles& roles,
              const std::array<double, kCommRoleCount>& exposed, double steps) {
    const auto of = [&](CommRole role) { return exposed[static_cast<std::size_t>(role)]; };
    double free = static_cast<double>(sides.free_ns);
    const double gradients = of(CommRole::kGradients);
    if (roles.told()) {
      const double messages =
          std::max({messages_ / steps, std::ceil(bytes_ / steps / kBucketBytes), 2.0});
      const double behind =
          static_cast<double>(backward.length() - trace::IntersectLength(backward, sides.comm));
      gradients_ = (1 - 1 / messages) * Share(behind, gradients);
      free -= gradients_ * gradients;
      rest_ = Share(free, of(CommRole::kParameters) + of(CommRole::kOther));
    } else {
      gradients_ = rest_ =
          Share(free, gradients + of(CommRole::kParameters) + of(CommRole::kOther));
    }
  }
  double Of(CommRole role) const {
    if (role == CommRole::kGradients) return gradients_;
    return role == CommRole::kParameters || role == CommRole::kOther ? rest_ : 0;
  }

 private:
  double messages_ = 0, bytes_ = 0;  // of gradients, over the replayed steps
  double gradients_ = 0, rest_ = 0;
};

struct OfDevice {
  IntervalSet comm, compute, backward, waits, doubts;
  Sides sides;
  Hiding hiding;
  std::array<double, kCommRoleCount> exposed{};  // without waiting, sure and doubtful
};

// Of one run on a device: what is exposed, and what of that is waiting.
CommExposure::Target TargetOf(TaskId t, const Task& task, const Wait& wait, CommRole role,
                              const IntervalSet& compute) {
  const Nanos start = task.start_ns, end = start + task.duration_ns;
  const Nanos came = std::min(end, start + wait.sure_ns);
  const Nanos sure = std::min(end, came + wait.doubtful_ns);
  const auto exposed = [&](Nanos from, Nanos to) {
    return to > from ? (to - from) - compute.LengthWithin({from, to}) : Nanos{0};
  };
  return {t, exposed(sure, end), exposed(came, sure), 0, role};
}

// False: nothing on any device communicates in the steps.
bool OnDevices(const Model& model, CommExposure& out) {
  const Graph& graph = model.graph();
  const auto device_of = [&](const Task& task) {
    return model.trace().streams[model.trace().device.stream[task.row]].device;
  };
  if (!model.facts().comm) return false;
  const CommRoles roles(model);
  const std::vector<Wait> waits = WaitsOf(model, out);
  const std::vector<analyze::CollectiveRun>& runs = model.facts().comm->runs;
  std::vector<std::uint32_t> run_of(graph.tasks.size(), UINT32_MAX);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (runs[i].work == trace::kNoRow) continue;
    const TaskId task = graph.of_device[runs[i].work];
    if (task != kNoTask) run_of[task] = static_cast<std::uint32_t>(i);
  }
  // The work of the replayed steps, whenever the device came to it.
  std::vector<OfDevice> devices(model.trace().devices.size());
  for (const Task& task : graph.tasks) {
    if (task.kind != TaskKind::kCollective && task.kind != TaskKind::kKernel) continue;
    const RowId device = device_of(task);
    if (device >= devices.size()) continue;
    const Interval span{task.start_ns, task.start_ns + task.duration_ns};
    if (task.kind == TaskKind::kCollective) {
      devices[device].comm.AppendSorted(span);
      continue;
    }
    devices[device].compute.AppendSorted(span);
    if (roles.told() && roles.OfBackward(task.row)) {
      devices[device].backward.AppendSorted(span);
    }
  }
  double communicate = 0;
  for (OfDevice& device : devices) {
    if (device.comm.empty()) continue;
    ++communicate;
    device.sides = Compare(std::move(device.comm), std::move(device.compute));
    Count(device.sides, out);
  }
  if (communicate == 0) return false;
  std::vector<RowId> of_target;
  for (TaskId t = 0; t < graph.tasks.size(); ++t) {
    const Task& task = graph.tasks[t];
    if (task.kind != TaskKind::kCollective) continue;
    const RowId at = device_of(task);
    if (at >= devices.size()) continue;
    OfDevice& device = devices[at];
    const std::uint32_t run = run_of[t];
    const CommRole role = run == UINT32_MAX ? CommRole::kOther : roles.Of(run);
    const Wait wait = run == UINT32_MAX ? Wait{} : waits[run];
    const Nanos end = task.start_ns + task.duration_ns;
    const Nanos came = std::min(end, task.start_ns + wait.sure_ns);
    if (came > task.start_ns) device.waits.AppendSorted({task.start_ns, came});
    if (role == CommRole::kGradients) {
      const Known<double>& bytes = runs[run].message_bytes;
      device.hiding.Gradients(bytes ? *bytes : 0);
    }
    const CommExposure::Target target = TargetOf(t, task, wait, role, device.sides.compute);
    if (target.exposed_ns + target.doubtful_ns <= 0) continue;
    device.exposed[static_cast<std::size_t>(role)] +=
        static_cast<double>(target.exposed_ns + target.doubtful_ns);
    out.doubtful_ns += static_cast<double>(target.doubtful_ns);
    out.targets.push_back(target);
    of_target.push_back(at);
  }
  for (OfDevice& device : devices) {
    if (device.sides.comm.empty()) continue;
    device.hiding.Settle(device.sides, device.backward, roles, device.exposed,
                         static_cast<double>(graph.steps));
    out.waited_ns += static_cast<double>(
        device.waits.length() - trace::IntersectLength(device.waits, device.sides.compute));
    for (std::size_t role = 0; role < kCommRoleCount; ++role) {
      out.of_role[role] += device.exposed[role] / communicate;
    }
  }
  for (std::size_t i = 0; i < out.targets.size(); ++i) {
    out.targets[i].hideable = devices[of_target[i]].hiding.Of(out.targets[i].role);
  }
  for (double* sum : {&out.comm_ns, &out.exposed_ns, &out.compute_ns, &out.free_compute_ns,
                      &out.waited_ns, &out.doubtful_ns}) {
    *sum /= communicate;
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

// Where collectives of the host surely wait for other ranks.
IntervalSet WaitsOnHost(const Model& model, CommExposure& out) {
  if (!model.facts().comm) return {};
  const std::vector<Wait> waits = WaitsOf(model, out);
  const std::vector<analyze::CollectiveRun>& runs = model.facts().comm->runs;
  std::vector<Interval> spans;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (runs[i].work != trace::kNoRow) continue;
    const Nanos start = runs[i].start_ns - model.trace().info.base_time_ns;
    spans.push_back({start, start + waits[i].sure_ns});
  }
  return IntervalSet::Union(std::move(spans));
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
  const IntervalSet open = trace::Subtract(sides.comm, sides.compute);
  const IntervalSet transfer = trace::Subtract(open, WaitsOnHost(model, out));
  out.waited_ns = static_cast<double>(open.length() - transfer.length());
  const double left = out.transfer_ns();
  const double hideable = Share(static_cast<double>(sides.free_ns), left);
  out.of_role[static_cast<std::size_t>(CommRole::kOther)] = left;
  for (TaskId t = 0; t < graph.tasks.size(); ++t) {
    const Task& task = graph.tasks[t];
    if (task.lane != 0 || task.kind != TaskKind::kHost) continue;
    const Nanos inside = transfer.LengthWithin({task.start_ns, task.start_ns + task.duration_ns});
    if (inside > 0) out.targets.push_back({t, inside, 0, hideable, CommRole::kOther});
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
