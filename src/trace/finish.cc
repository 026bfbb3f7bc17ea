// SPDX-License-Identifier: Apache-2.0
#include "trace/finish.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "trace/call_index.h"
#include "trace/plausible.h"
#include "trace/running.h"

namespace hone::trace {
namespace {

// The order that `less` asks for, or an empty vector when the rows already stand in it.
template <typename Less>
std::vector<RowId> SortedOrder(std::size_t rows, const Less& less) {
  bool sorted = true;
  for (RowId i = 1; i < rows && sorted; ++i) sorted = !less(i, i - 1);
  if (sorted) return {};
  std::vector<RowId> order(rows);
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [&](RowId a, RowId b) {
    if (less(a, b)) return true;
    return !less(b, a) && a < b;  // ties keep the order of the file
  });
  return order;
}

// Of an operator and a call that begin and end together the operator is the one around the other.
bool IsCall(const HostSlices& host, RowId row) { return host.kind[row] == SliceKind::kApi; }

// Rows of one thread are gathered first and then sorted by keys that lie side by side, not through
// row numbers, so that comparing does not jump through memory.
std::vector<RowId> HostOrder(const HostSlices& host, std::size_t thread_count) {
  const auto less = [&](RowId a, RowId b) {
    if (host.thread[a] != host.thread[b]) return host.thread[a] < host.thread[b];
    if (host.start_ns[a] != host.start_ns[b]) return host.start_ns[a] < host.start_ns[b];
    if (host.duration_ns[a] != host.duration_ns[b]) {
      return host.duration_ns[a] > host.duration_ns[b];
    }
    return IsCall(host, a) < IsCall(host, b);
  };
  bool sorted = true;
  for (RowId i = 1; i < host.size() && sorted; ++i) sorted = !less(i, i - 1);
  if (sorted) return {};

  std::vector<RowId> first(thread_count + 1, 0);
  for (RowId i = 0; i < host.size(); ++i) ++first[host.thread[i] + 1U];
  std::partial_sum(first.begin(), first.end(), first.begin());
  std::vector<RowId> order(host.size());
  std::vector<RowId> next(first.begin(), first.end() - 1);
  for (RowId i = 0; i < host.size(); ++i) order[next[host.thread[i]]++] = i;

  struct Key {
    Nanos start_ns, duration_ns;
    RowId row;
    bool is_call;
    bool operator<(const Key& other) const {
      if (start_ns != other.start_ns) return start_ns < other.start_ns;
      if (duration_ns != other.duration_ns) return duration_ns > other.duration_ns;
      if (is_call != other.is_call) return other.is_call;
      return row < other.row;  // ties keep the order of the file
    }
  };
  std::vector<Key> keys;
  for (std::size_t thread = 0; thread < thread_count; ++thread) {
    keys.clear();
    for (RowId at = first[thread]; at < first[thread + 1]; ++at) {
      const RowId row = order[at];
      keys.push_back({host.start_ns[row], host.duration_ns[row], row, IsCall(host, row)});
    }
    if (!std::is_sorted(keys.begin(), keys.end())) std::sort(keys.begin(), keys.end());
    for (std::size_t i = 0; i < keys.size(); ++i) order[first[thread] + i] = keys[i].row;
  }
  return order;
}

void SortHost(HostSlices& host, std::size_t thread_count) {
  const std::vector<RowId> order = HostOrder(host, thread_count);
  if (order.empty()) return;
  host.start_ns.Permute(order);
  host.duration_ns.Permute(order);
  host.name.Permute(order);
  host.kind.Permute(order);
  host.thread.Permute(order);
  host.id.Permute(order);
  host.link.Permute(order);
  host.detail.Permute(order);
}

void SortDevice(DeviceWork& device) {
  const auto order = SortedOrder(device.size(), [&](RowId a, RowId b) {
    if (device.start_ns[a] != device.start_ns[b]) return device.start_ns[a] < device.start_ns[b];
    return device.duration_ns[a] > device.duration_ns[b];
  });
  if (order.empty()) return;
  device.start_ns.Permute(order);
  device.duration_ns.Permute(order);
  device.name.Permute(order);
  device.kind.Permute(order);
  device.stream.Permute(order);
  device.correlation.Permute(order);
  device.external_id.Permute(order);
  device.bytes.Permute(order);
  device.direction.Permute(order);
  device.source.Permute(order);
  device.target.Permute(order);
  device.launch.Permute(order);
  device.graph.Permute(order);
  device.collective.Permute(order);
}

void SortMemory(MemoryEvents& memory) {
  const auto order = SortedOrder(
      memory.size(), [&](RowId a, RowId b) { return memory.time_ns[a] < memory.time_ns[b]; });
  if (order.empty()) return;
  memory.time_ns.Permute(order);
  memory.thread.Permute(order);
  memory.device_type.Permute(order);
  memory.device_id.Permute(order);
  memory.address.Permute(order);
  memory.bytes.Permute(order);
  memory.total_allocated.Permute(order);
  memory.total_reserved.Permute(order);
  memory.frame.Permute(order);
}

void SortSamples(StackSamples& samples) {
  const auto order = SortedOrder(
      samples.size(), [&](RowId a, RowId b) { return samples.time_ns[a] < samples.time_ns[b]; });
  if (order.empty()) return;
  samples.time_ns.Permute(order);
  samples.thread.Permute(order);
  samples.frame.Permute(order);
  samples.state.Permute(order);
  samples.period_ns.Permute(order);
}

// The slices that a thread has begun, and what a new one is inside of.
class OpenSlices {
 public:
  explicit OpenSlices(const HostSlices& host) : host_(host) {}

  void Clear() { open_.clear(); }
  void Begin(RowId row) { open_.push_back(row); }

  // The innermost that holds all of `row`. One that `row` outlives does not: what comes later
  // inside of `row` would have a parent that had ended. A call is where it began, whatever its
  // clock says of its end. Looks at what has ended once, and else at those that `row` crosses.
  RowId Enclosing(RowId row, bool& crosses) {
    crosses = false;
    for (std::size_t at = open_.size(); at-- > 0;) {
      const RowId around = open_[at];
      if (host_.end_ns(around) <= host_.start_ns[row]) {
        open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(at));
        continue;
      }
      const bool holds = Holds(host_, around, row);
      crosses = crosses || !holds;
      if (holds || host_.kind[row] == SliceKind::kApi) return around;
    }
    return kNoRow;
  }

 private:
  const HostSlices& host_;
  std::vector<RowId> open_;  // by start
};

// Sets thread ranges and parents. A slice that outlives one that runs when it begins crosses it,
// and is counted.
void Nest(Trace& trace) {
  HostSlices& host = trace.host;
  host.parent.resize(host.size(), kNoRow);
  std::uint64_t crossing = 0;
  OpenSlices open(host);
  for (RowId i = 0; i < host.size(); ++i) {
    Thread& thread = trace.threads[host.thread[i]];
    if (i == 0 || host.thread[i] != host.thread[i - 1]) {
      open.Clear();
      thread.first_slice = i;
    }
    thread.last_slice = i + 1;
    bool crosses = false;
    host.parent[i] = open.Enclosing(i, crosses);
    if (crosses) ++crossing;
    // A slice of zero length holds nothing.
    if (host.duration_ns[i] > 0) open.Begin(i);
  }
  trace.losses.Add(LossKind::kCrossingSlices, crossing);
}

void CountStreamOverlap(Trace& trace) {
  const DeviceWork& device = trace.device;
  std::vector<Nanos> stream_end(trace.streams.size(), INT64_MIN);
  std::uint64_t overlaps = 0;
  Nanos time = 0;
  for (RowId i = 0; i < device.size(); ++i) {
    Nanos& end = stream_end[device.stream[i]];
    if (device.start_ns[i] < end) {
      ++overlaps;
      time += std::min(end, device.end_ns(i)) - device.start_ns[i];
    }
    end = std::max(end, device.end_ns(i));
  }
  trace.losses.Add(LossKind::kStreamOverlap, overlaps, time);
}

// The operator that each host slice began in, itself included.
std::vector<RowId> InnermostOps(const HostSlices& host) {
  std::vector<RowId> ops(host.size(), kNoRow);
  Running running(host);
  for (RowId i = 0; i < host.size(); ++i) {
    if (host.kind[i] == SliceKind::kOp) running.Begin(i);
    ops[i] = host.kind[i] == SliceKind::kOp ? i : running.Around(i);
  }
  return ops;
}

// The operator that was capturing when a node of a CUDA graph was made. An instantiated graph has
// copies of the captured nodes, and a copy of a copy when it is updated.
RowId CapturingOp(const HostSlices& host, const CallIndex& nodes, std::int64_t node, RowId process,
                  const std::vector<RowId>& innermost) {
  constexpr int kMostCopies = 4;
  RowId op = kNoRow;
  for (int copies = 0; copies < kMostCopies && op == kNoRow && node != 0; ++copies) {
    const RowId made = nodes.Find(node, process, INT64_MAX);
    if (made == kNoRow) break;
    op = innermost[made];
    node = host.link[made];
  }
  return op;
}

// In a file of merged ranks the process of a stream is an inference: where it has no such id, any
// has. Elsewhere the file says it.
RowId FindOf(const CallIndex& index, const Trace& trace, std::int64_t id, RowId process,
             Nanos no_later_than_ns) {
  const RowId found = index.Find(id, process, no_later_than_ns);
  if (found != kNoRow || process == kNoRow || trace.info.format != Format::kKineto) return found;
  return index.Find(id, kNoRow, no_later_than_ns);
}

void Link(Trace& trace) {
  HostSlices& host = trace.host;
  DeviceWork& device = trace.device;
  device.api.resize(device.size(), kNoRow);
  device.op.resize(device.size(), kNoRow);
  if (device.size() == 0) return;
  const CallIndex calls(trace, SliceKind::kApi);
  const CallIndex ops(trace, SliceKind::kOp);
  const CallIndex nodes(trace, SliceKind::kGraphNode);
  const std::vector<RowId> innermost = InnermostOps(host);

  struct Tally {
    std::uint64_t count = 0;
    Nanos time = 0;
  };
  Tally unlinked, unattributed, conflict, graph;
  for (RowId i = 0; i < device.size(); ++i) {
    const auto count = [&](Tally& tally) {
      ++tally.count;
      tally.time += device.duration_ns[i];
    };
    const RowId process = trace.streams[device.stream[i]].process;
    const RowId api = FindOf(calls, trace, device.correlation[i], process, device.start_ns[i]);
    RowId by_id = kNoRow;
    if (device.external_id[i] != 0) {
      by_id = FindOf(ops, trace, device.external_id[i], process, device.start_ns[i]);
    }
    if (api == kNoRow) {
      device.op[i] = by_id;
      count(unlinked);
      continue;
    }
    device.api[i] = api;
    // What captured a graph's node says more than what launched the graph.
    const GraphNode& node = trace.graph_nodes[device.graph[i]];
    if (node.node_id != 0) {
      device.op[i] = CapturingOp(host, nodes, node.node_id, process, innermost);
    }
    if (device.op[i] == kNoRow) device.op[i] = innermost[api];
    if (device.op[i] == kNoRow) device.op[i] = by_id;
    if (device.op[i] == kNoRow) {
      count(device.graph[i] != 0 ? graph : unattributed);
    } else if (by_id != kNoRow && by_id != device.op[i]) {
      count(conflict);
    }
  }
  trace.losses.Add(LossKind::kUnlinkedDeviceWork, unlinked.count, unlinked.time);
  trace.losses.Add(LossKind::kUnattributedDeviceWork, unattributed.count, unattributed.time);
  trace.losses.Add(LossKind::kLinkConflict, conflict.count, conflict.time);
  trace.losses.Add(LossKind::kGraphUnattributed, graph.count, graph.time);
  trace.losses.Add(LossKind::kAmbiguousCorrelation, calls.duplicates());
}

}  // namespace

void Finish(Trace& trace) {
  DropFarTimes(trace);
  CutImplausible(trace);
  SortHost(trace.host, trace.threads.size());
  SortDevice(trace.device);
  SortMemory(trace.memory);
  SortSamples(trace.samples);
  Nest(trace);
  CountStreamOverlap(trace);
  Link(trace);
  CountEarlyStarts(trace);
}

}  // namespace hone::trace
