// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <vector>

#include "analyze/grouping.h"
#include "analyze/slice_groups.h"
#include "analyze/tables.h"

namespace hone::analyze {
namespace {

using trace::kNoRow;
using trace::RowId;
using trace::Trace;

// The host slice that a piece of work is accounted to: its operator, else its launching call.
RowId LaunchSlice(const Trace& trace, RowId work) {
  return trace.device.op[work] != kNoRow ? trace.device.op[work] : trace.device.api[work];
}

struct Grouping {
  std::vector<std::uint32_t> of_row;  // one a row of Trace::device
  std::vector<StringId> text;         // by group: shape, stack or module
  std::vector<std::uint32_t> name;    // by group: its name with most time, as an id of `names`
  std::vector<RowId> first_of_name;   // by id of `names`: the first row of that name and kind
};

Grouping GroupWork(const Trace& trace, const Column<StringId>& slice_groups, GroupBy group_by) {
  const auto& device = trace.device;
  const bool by_name = group_by == GroupBy::kName || group_by == GroupBy::kNameShape;
  Grouping grouping;
  grouping.of_row.resize(device.size());
  GroupIndex names, groups;
  Dominant dominant;
  for (RowId i = 0; i < device.size(); ++i) {
    const std::uint32_t name = names.IdOf(PairKey(static_cast<std::uint32_t>(device.name[i]),
                                                  static_cast<std::uint32_t>(device.kind[i])));
    if (name == grouping.first_of_name.size()) grouping.first_of_name.push_back(i);
    const RowId slice = LaunchSlice(trace, i);
    const StringId text = slice == kNoRow ? StringId::kEmpty : slice_groups[slice];
    const std::uint32_t group =
        groups.IdOf(PairKey(by_name ? name : 0, static_cast<std::uint32_t>(text)));
    if (group == grouping.text.size()) grouping.text.push_back(text);
    grouping.of_row[i] = group;
    dominant.Add(group, name, device.duration_ns[i]);
  }
  grouping.name = dominant.Pick(groups.size(), 0);
  return grouping;
}

// Name of the operator that launched most of each group's time; empty where that is nobody.
std::vector<std::uint32_t> DominantOps(const Trace& trace, const Grouping& grouping) {
  const auto& device = trace.device;
  Dominant dominant;
  for (RowId i = 0; i < device.size(); ++i) {
    const StringId op = device.op[i] == kNoRow ? StringId::kEmpty : trace.host.name[device.op[i]];
    dominant.Add(grouping.of_row[i], static_cast<std::uint32_t>(op), device.duration_ns[i]);
  }
  return dominant.Pick(grouping.text.size(), 0);
}

// Mean of the recorded occupancy weighted by time, over the kernels that carry one.
std::vector<float> MeanOccupancy(const Trace& trace, const Grouping& grouping) {
  std::vector<double> weighted(grouping.text.size(), 0), time(grouping.text.size(), 0);
  for (RowId i = 0; i < trace.device.size(); ++i) {
    const float occupancy = trace.launches[trace.device.launch[i]].occupancy_pct;
    if (!(occupancy >= 0) || !std::isfinite(occupancy)) continue;
    const auto duration = static_cast<double>(trace.device.duration_ns[i]);
    weighted[grouping.of_row[i]] += duration * static_cast<double>(occupancy);
    time[grouping.of_row[i]] += duration;
  }
  std::vector<float> mean(grouping.text.size(), -1);
  for (std::size_t g = 0; g < mean.size(); ++g) {
    if (time[g] > 0) mean[g] = static_cast<float>(weighted[g] / time[g]);
  }
  return mean;
}

}  // namespace

Known<KernelTable> BuildKernelTable(const Trace& trace, const WorkClasses& classes,
                                    const Lineage& lineage, GroupBy group_by) {
  const auto& device = trace.device;
  if (device.size() == 0) return Known<KernelTable>::Absent("the trace has no device work");
  const auto slice_groups = GroupsOfSlices(trace, lineage, group_by);
  if (!slice_groups) return Known<KernelTable>::Absent(slice_groups.why_not());

  const Grouping grouping = GroupWork(trace, *slice_groups, group_by);
  const auto ops = DominantOps(trace, grouping);
  const auto occupancy = MeanOccupancy(trace, grouping);
  const auto stats = Summarize(device.duration_ns.span(), grouping.of_row, grouping.text.size());

  KernelTable table;
  table.group_by = group_by;
  table.rows.resize(stats.size());
  for (std::size_t g = 0; g < stats.size(); ++g) {
    const RowId example = grouping.first_of_name[grouping.name[g]];
    KernelRow& row = table.rows[g];
    row.name = device.name[example];
    row.op = static_cast<StringId>(ops[g]);
    row.group = grouping.text[g];
    row.work_class = classes[example];
    row.kind = device.kind[example];
    row.time = stats[g];
    row.occupancy_pct = occupancy[g];
    table.total_ns = SaturatingAdd(table.total_ns, stats[g].total_ns);
  }
  for (KernelRow& row : table.rows) {
    if (table.total_ns > 0) {
      row.share = static_cast<double>(row.time.total_ns) / static_cast<double>(table.total_ns);
    }
  }
  // Groups stand in order of first start; a stable sort keeps that among equals.
  std::stable_sort(table.rows.begin(), table.rows.end(),
                   [](const auto& a, const auto& b) { return a.time.total_ns > b.time.total_ns; });
  return table;
}

}  // namespace hone::analyze
