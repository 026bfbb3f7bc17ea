// SPDX-License-Identifier: Apache-2.0
#include "analyze/comm.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <vector>

#include "analyze/collective_source.h"
#include "analyze/grouping.h"

namespace hone::analyze {
namespace {

using trace::kNoRow;
using trace::RowId;
using trace::Trace;

struct Run {
  std::uint32_t description;
  RowId work;
  Nanos launch_ns, start_ns, duration_ns;
};

// Nanos that give bytes per nanosecond, which is GB/s (1e9 bytes), when they divide bytes.
Known<double> AlgorithmBandwidth(const Known<double>& message, double mean_ns) {
  if (!message) return Known<double>::Absent("message size unknown: " + message.why_not());
  if (mean_ns <= 0) return Known<double>::Absent("durations are zero");
  return *message / mean_ns;
}

// Whether what it does lies in the steady steps, if in part; without steps it does.
bool Counts(const Run& run, const Steps& steps) {
  if (steps.steady_count() == 0) return true;
  const trace::IntervalSet& window = run.work == kNoRow ? steps.host_window : steps.steady_window;
  const Nanos end = SaturatingAdd(run.start_ns, std::max<Nanos>(run.duration_ns, 1));
  return window.LengthWithin({run.start_ns, end}) > 0;
}

std::vector<CollectiveRow> BuildRows(std::span<const CollectiveDescription> descriptions,
                                     std::span<const Run> runs, const Steps& steps) {
  std::vector<CollectiveRow> rows;
  std::vector<CollectiveKind> kinds;
  // Distinct descriptions may differ in what a row does not show (group, sequence number).
  std::map<std::tuple<CollectiveKind, std::string_view, double, std::int64_t>, std::size_t> index;
  std::vector<std::size_t> row_of(descriptions.size());
  for (std::size_t d = 0; d < descriptions.size(); ++d) {
    const CollectiveDescription& known = descriptions[d];
    const auto [it, added] =
        index.try_emplace({known.kind, known.dtype,
                           known.message_bytes ? *known.message_bytes : -1.0, known.group_size},
                          rows.size());
    row_of[d] = it->second;
    if (!added) continue;
    rows.emplace_back();
    rows.back().kind = CollectiveKindName(known.kind);
    rows.back().dtype = known.dtype;
    rows.back().message_bytes = known.message_bytes;
    rows.back().group_size = known.group_size;
    kinds.push_back(known.kind);
  }
  for (const Run& run : runs) {
    if (!Counts(run, steps)) continue;
    CollectiveRow& row = rows[row_of[run.description]];
    ++row.count;
    row.total_ns = SaturatingAdd(row.total_ns, run.duration_ns);
    row.max_ns = std::max(row.max_ns, run.duration_ns);
  }
  for (std::size_t r = 0; r < rows.size(); ++r) {
    CollectiveRow& row = rows[r];
    if (row.count == 0) continue;  // left out below
    const double mean = static_cast<double>(row.total_ns) / static_cast<double>(row.count);
    row.mean_ns = row.total_ns / static_cast<Nanos>(row.count);
    row.algorithm_gbytes_per_s = AlgorithmBandwidth(row.message_bytes, mean);
    const Known<double> factor = BusFactor(kinds[r], row.group_size);
    if (!row.algorithm_gbytes_per_s) {
      row.bus_gbytes_per_s = row.algorithm_gbytes_per_s;
    } else if (!factor) {
      row.bus_gbytes_per_s = factor;
    } else {
      row.bus_gbytes_per_s = *row.algorithm_gbytes_per_s * *factor;
    }
  }
  std::erase_if(rows, [](const CollectiveRow& row) { return row.count == 0; });
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.total_ns > b.total_ns; });
  return rows;
}

// Indices of `runs`, sorted by a column of theirs; ties keep their order.
std::vector<std::uint32_t> SortedBy(std::span<const Run> runs, Nanos Run::*column) {
  std::vector<std::uint32_t> order(runs.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return runs[a].*column < runs[b].*column;
  });
  return order;
}

// Runs by start, each with its ordinal in the order of launch within its group.
std::vector<CollectiveRun> BuildRuns(const Trace& trace,
                                     std::span<const CollectiveDescription> descriptions,
                                     std::span<const Run> runs) {
  std::map<std::string_view, std::int64_t> next;
  std::vector<std::int64_t*> counter(descriptions.size());
  for (std::size_t d = 0; d < descriptions.size(); ++d) counter[d] = &next[descriptions[d].group];
  std::vector<std::int64_t> ordinal(runs.size());
  for (const std::uint32_t i : SortedBy(runs, &Run::launch_ns)) {
    ordinal[i] = (*counter[runs[i].description])++;
  }
  std::vector<CollectiveRun> out;
  out.reserve(runs.size());
  for (const std::uint32_t i : SortedBy(runs, &Run::start_ns)) {
    const CollectiveDescription& known = descriptions[runs[i].description];
    CollectiveRun& run = out.emplace_back();
    run.work = runs[i].work;
    run.kind = CollectiveKindName(known.kind);
    run.group = known.group;
    run.order = ordinal[i];
    run.sequence = known.sequence;
    run.start_ns = SaturatingAdd(trace.info.base_time_ns, runs[i].start_ns);
    run.duration_ns = runs[i].duration_ns;
    run.message_bytes = known.message_bytes;
    run.group_size = known.group_size;
  }
  return out;
}

// Operators that are no collectives themselves, on threads where none of the collectives runs.
trace::IntervalSet OperatorsBeside(const Trace& trace, std::span<const RowId> collectives) {
  std::vector<bool> back_end(trace.threads.size(), false);
  for (const RowId row : collectives) back_end[trace.host.thread[row]] = true;
  std::vector<std::uint8_t> judged(trace.strings.size(), 0);  // 1: an operator, 2: a collective
  std::vector<trace::Interval> spans;
  for (RowId i = 0; i < trace.host.size(); ++i) {
    if (trace.host.kind[i] != trace::SliceKind::kOp || back_end[trace.host.thread[i]]) continue;
    const RowId parent = trace.host.parent[i];
    if (parent != kNoRow && trace.host.kind[parent] == trace::SliceKind::kOp) continue;
    std::uint8_t& name = judged[static_cast<std::uint32_t>(trace.host.name[i])];
    if (name == 0) {
      const std::string_view text = trace.HostName(i);
      name = text.starts_with("c10d::") || text == "record_param_comms" ? 2 : 1;
    }
    if (name == 1) spans.push_back({trace.host.start_ns[i], trace.host.end_ns(i)});
  }
  return trace::IntervalSet::Union(std::move(spans));
}

// On the clock that all ranks share.
trace::IntervalSet OnEpoch(const trace::IntervalSet& set, Nanos base_ns) {
  trace::IntervalSet moved;
  for (const trace::Interval& part : set) {
    moved.AppendSorted(
        {SaturatingAdd(base_ns, part.begin_ns), SaturatingAdd(base_ns, part.end_ns)});
  }
  return moved;
}

// Whether a device communicates anywhere in the trace.
bool AddOverlapOnDevices(const Trace& trace, const Known<Timeline>& timeline, CommFacts& facts) {
  if (!timeline) return false;
  bool any = false;
  Nanos open = 0;
  trace::IntervalSet exposed;
  for (const DeviceTimeline& device : timeline->devices) {
    any = any || !device.comm.empty();
    const trace::IntervalSet alone = trace::Subtract(device.comm, device.compute);
    exposed = trace::Unite(exposed, alone);
    const bool whole = facts.steps == 0;
    facts.total_ns =
        SaturatingAdd(facts.total_ns, whole ? device.comm.length() : device.steady.comm_ns);
    open = SaturatingAdd(open, whole ? alone.length() : device.steady.exposed_comm_ns);
  }
  if (!any) return false;
  facts.exposed = OnEpoch(exposed, trace.info.base_time_ns);
  facts.exposed_ns = open;
  facts.overlap_pct = facts.total_ns > 0
                          ? Known<double>(100 * static_cast<double>(facts.total_ns - open) /
                                          static_cast<double>(facts.total_ns))
                          : Known<double>::Absent("no communication in the steady steps");
  return true;
}

void AddOverlap(const Trace& trace, const Known<Timeline>& timeline, std::span<const Run> runs,
                std::span<const RowId> host_collectives, const Steps& steps, CommFacts& facts) {
  if (AddOverlapOnDevices(trace, timeline, facts)) return;
  std::vector<trace::Interval> spans;
  for (const Run& run : runs) spans.push_back({run.start_ns, run.start_ns + run.duration_ns});
  const trace::IntervalSet all = trace::IntervalSet::Union(std::move(spans));
  facts.total_ns = facts.steps == 0 ? all.length() : trace::IntersectLength(all, steps.host_window);
  facts.exposed = OnEpoch(trace::Subtract(all, OperatorsBeside(trace, host_collectives)),
                          trace.info.base_time_ns);
  const char* why = "the collectives ran on the host; what hides them is not recorded";
  facts.exposed_ns = Known<Nanos>::Absent(why);
  facts.overlap_pct = Known<double>::Absent(why);
}

}  // namespace

Known<CommFacts> MeasureComm(const Trace& trace, const WorkClasses& classes,
                             const Known<Timeline>& timeline, const Steps& steps) {
  CollectiveSource source(trace);
  std::vector<Run> runs;
  for (RowId i = 0; i < trace.device.size(); ++i) {
    if (!classes.IsCommunication(i)) continue;
    const RowId api = trace.device.api[i];
    runs.push_back({source.DescribeWork(i), i,
                    api == kNoRow ? trace.device.start_ns[i] : trace.host.start_ns[api],
                    trace.device.start_ns[i], trace.device.duration_ns[i]});
  }
  const bool on_device = !runs.empty();
  for (const RowId row : source.HostCollectives()) {
    const Nanos start = trace.host.start_ns[row];
    runs.push_back({source.DescribeSlice(row), kNoRow, start, start, trace.host.duration_ns[row]});
  }
  if (runs.empty()) {
    const RowId mark = source.first_mark();
    if (mark == kNoRow) return Known<CommFacts>::Absent("no collective in this trace");
    return Known<CommFacts>::Absent("collectives are launched (" +
                                    std::string(trace.HostName(mark)) +
                                    "), but none of their kernels is in this trace");
  }

  CommFacts facts;
  facts.backend = trace.info.backend;
  if (facts.backend.empty()) facts.backend = source.BackendFromNames(on_device);
  facts.steps = steps.steady_count();
  AddOverlap(trace, timeline, runs, source.HostCollectives(), steps, facts);
  facts.rows = BuildRows(source.descriptions(), runs, steps);
  facts.runs = BuildRuns(trace, source.descriptions(), runs);
  return facts;
}

}  // namespace hone::analyze
