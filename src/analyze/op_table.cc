// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "analyze/grouping.h"
#include "analyze/slice_groups.h"
#include "analyze/slice_times.h"
#include "analyze/tables.h"

namespace hone::analyze {
namespace {

using trace::kNoRow;
using trace::RowId;
using trace::SliceKind;
using trace::Trace;

bool InTable(SliceKind kind) { return kind == SliceKind::kOp || kind == SliceKind::kAnnotation; }

struct Grouping {
  std::vector<std::uint32_t> of_row;  // one a row of Trace::host; kNoGroup: not in the table
  std::vector<OpRow> rows;            // by group
};

Grouping GroupSlices(const Trace& trace, const Column<StringId>& slice_groups, GroupBy group_by) {
  const auto& host = trace.host;
  const bool by_name = group_by == GroupBy::kName || group_by == GroupBy::kNameShape;
  Grouping grouping;
  grouping.of_row.resize(host.size(), kNoGroup);
  GroupIndex names, groups;
  Dominant dominant;
  for (RowId i = 0; i < host.size(); ++i) {
    if (!InTable(host.kind[i])) continue;
    const auto name = static_cast<std::uint32_t>(host.name[i]);
    // Operators and annotations never share a row, also where they share a line or a module.
    const bool op = host.kind[i] == SliceKind::kOp;
    const std::uint32_t key = names.IdOf(PairKey(by_name ? name : 0, op ? 1 : 0));
    const std::uint32_t group =
        groups.IdOf(PairKey(key, static_cast<std::uint32_t>(slice_groups[i])));
    if (group == grouping.rows.size()) {
      grouping.rows.push_back(
          {.name = host.name[i], .group = slice_groups[i], .kind = host.kind[i]});
    }
    grouping.of_row[i] = group;
    if (!by_name) dominant.Add(group, name, host.duration_ns[i]);
  }
  if (by_name) return grouping;
  const auto name = dominant.Pick(grouping.rows.size(), 0);
  for (std::size_t g = 0; g < name.size(); ++g) {
    grouping.rows[g].name = static_cast<StringId>(name[g]);
  }
  return grouping;
}

// Inclusive times, each group once a moment on a thread: a call inside a call of its own group adds
// nothing. Host: the union of the calls, which rows sorted by start give in one pass. Device: the
// outermost call of the group has the time of those inside it.
void AddInclusive(const Trace& trace, const std::vector<Nanos>& device_total, Grouping& grouping) {
  const auto& host = trace.host;
  struct Active {
    std::uint32_t depth = 0, thread = UINT32_MAX;
    Nanos covered_to = 0;
  };
  std::vector<Active> active(grouping.rows.size());
  std::vector<RowId> nearest(host.size(), kNoRow);  // row of the table, itself included
  std::vector<RowId> open;                          // ancestors of the current row in the table
  for (RowId i = 0; i < host.size(); ++i) {
    const std::uint32_t group = grouping.of_row[i];
    const RowId around = host.parent[i] == kNoRow ? kNoRow : nearest[host.parent[i]];
    nearest[i] = group == kNoGroup ? around : i;
    if (group == kNoGroup) continue;
    // Rows stand in preorder: what is not around this row is closed for good.
    while (!open.empty() && open.back() != around) {
      --active[grouping.of_row[open.back()]].depth;
      open.pop_back();
    }
    OpRow& row = grouping.rows[group];
    Active& now = active[group];
    if (now.thread != host.thread[i]) {
      now.thread = host.thread[i];
      now.covered_to = INT64_MIN;
    }
    const Nanos from = std::max(host.start_ns[i], now.covered_to);
    if (host.end_ns(i) > from) {
      row.host_total_ns = SaturatingAdd(row.host_total_ns, host.end_ns(i) - from);
      now.covered_to = host.end_ns(i);
    }
    if (now.depth == 0) row.device_total_ns = SaturatingAdd(row.device_total_ns, device_total[i]);
    ++now.depth;
    open.push_back(i);
  }
}

void AddDeviceSelf(const Trace& trace, const Lineage& lineage, Grouping& grouping, OpTable& table) {
  const auto& device = trace.device;
  for (RowId i = 0; i < device.size(); ++i) {
    RowId owner = device.op[i];
    if (owner == kNoRow) {
      ++table.unattributed_count;
      table.unattributed_device_ns =
          SaturatingAdd(table.unattributed_device_ns, device.duration_ns[i]);
      // No operator, but an annotation may frame the call (NVTX in Nsight Systems traces).
      if (device.api[i] != kNoRow) owner = lineage.annotation[device.api[i]];
    }
    if (owner == kNoRow || grouping.of_row[owner] == kNoGroup) continue;
    OpRow& row = grouping.rows[grouping.of_row[owner]];
    row.device_self_ns = SaturatingAdd(row.device_self_ns, device.duration_ns[i]);
    if (device.kind[i] == trace::WorkKind::kKernel) ++row.kernels;
  }
}

void AddShares(const Trace& trace, std::vector<OpRow>& rows) {
  Nanos device_total = 0, op_self = 0, annotation_self = 0;
  for (const Nanos duration : trace.device.duration_ns) {
    device_total = SaturatingAdd(device_total, duration);
  }
  for (const OpRow& row : rows) {
    Nanos& sum = row.kind == SliceKind::kOp ? op_self : annotation_self;
    sum = SaturatingAdd(sum, row.host_self_ns);
  }
  const auto share = [](Nanos part, Nanos whole) {
    return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0.0;
  };
  for (OpRow& row : rows) {
    row.host_self_share =
        share(row.host_self_ns, row.kind == SliceKind::kOp ? op_self : annotation_self);
    row.device_self_share = share(row.device_self_ns, device_total);
  }
}

}  // namespace

Known<OpTable> BuildOpTable(const Trace& trace, const Lineage& lineage, GroupBy group_by) {
  const auto& host = trace.host;
  if (std::none_of(host.kind.begin(), host.kind.end(), InTable)) {
    return Known<OpTable>::Absent("the trace has no operators");
  }
  const auto slice_groups = GroupsOfSlices(trace, lineage, group_by);
  if (!slice_groups) return Known<OpTable>::Absent(slice_groups.why_not());

  Grouping grouping = GroupSlices(trace, *slice_groups, group_by);
  OpTable table;
  table.group_by = group_by;
  const auto stats = Summarize(host.duration_ns.span(), grouping.of_row, grouping.rows.size());
  for (std::size_t g = 0; g < stats.size(); ++g) {
    OpRow& row = grouping.rows[g];
    row.calls = stats[g].count;
    row.host_mean_ns = stats[g].mean_ns;
    row.host_p50_ns = stats[g].p50_ns;
    row.host_p95_ns = stats[g].p95_ns;
  }
  const std::vector<Nanos> self = SelfTimes(trace);
  for (RowId i = 0; i < host.size(); ++i) {
    if (grouping.of_row[i] == kNoGroup) continue;
    Nanos& sum = grouping.rows[grouping.of_row[i]].host_self_ns;
    sum = SaturatingAdd(sum, self[i]);
  }
  AddInclusive(trace, DeviceTotals(trace, lineage), grouping);
  AddDeviceSelf(trace, lineage, grouping, table);
  table.rows = std::move(grouping.rows);
  AddShares(trace, table.rows);
  std::stable_sort(table.rows.begin(), table.rows.end(), [](const OpRow& a, const OpRow& b) {
    if (a.device_self_ns != b.device_self_ns) return a.device_self_ns > b.device_self_ns;
    return a.host_self_ns > b.host_self_ns;
  });
  return table;
}

}  // namespace hone::analyze
