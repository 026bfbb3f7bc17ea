// SPDX-License-Identifier: Apache-2.0
// Kernel table and op table. Columns are defined in docs/user/tables.md.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyze/lineage.h"
#include "analyze/work_class.h"
#include "base/known.h"
#include "trace/trace.h"

namespace hone::analyze {

enum class GroupBy : std::uint8_t { kName, kNameShape, kStack, kModule };

// Durations of one group of events.
struct DurationStats {
  std::uint64_t count = 0;
  Nanos total_ns = 0, mean_ns = 0, min_ns = 0, p50_ns = 0, p95_ns = 0, max_ns = 0;
};

struct KernelRow {
  StringId name = StringId::kEmpty;
  StringId op = StringId::kEmpty;     // name of the launching operator; empty: none
  StringId group = StringId::kEmpty;  // shape text, stack or module when grouped so
  WorkClass work_class = WorkClass::kCompute;
  trace::WorkKind kind = trace::WorkKind::kKernel;
  DurationStats time;
  double share = 0;          // of the summed time of all device work
  float occupancy_pct = -1;  // time-weighted mean of the recorded estimate; -1 absent
};

struct KernelTable {
  GroupBy group_by = GroupBy::kName;
  std::vector<KernelRow> rows;  // by total time, largest first
  Nanos total_ns = 0;           // sum over rows
};

struct OpRow {
  StringId name = StringId::kEmpty;
  StringId group = StringId::kEmpty;
  trace::SliceKind kind = trace::SliceKind::kOp;  // kOp or kAnnotation
  std::uint64_t calls = 0;
  // Host: total = inclusive (a recursive call counts once), self = minus direct children.
  Nanos host_total_ns = 0, host_self_ns = 0, host_mean_ns = 0, host_p50_ns = 0, host_p95_ns = 0;
  // Device: self = summed time of the work it launched itself, total = with its descendants.
  Nanos device_total_ns = 0, device_self_ns = 0;
  std::uint64_t kernels = 0;  // launched by itself
  double host_self_share = 0, device_self_share = 0;
};

struct OpTable {
  GroupBy group_by = GroupBy::kName;
  std::vector<OpRow> rows;           // by device_self, then host_self, largest first
  Nanos unattributed_device_ns = 0;  // device work that no operator launched, as far as known
  std::uint64_t unattributed_count = 0;
};

// Absent when the trace has no such events, or lacks what the grouping needs (says which).
Known<KernelTable> BuildKernelTable(const trace::Trace& trace, const WorkClasses& classes,
                                    const Lineage& lineage, GroupBy group_by);
Known<OpTable> BuildOpTable(const trace::Trace& trace, const Lineage& lineage, GroupBy group_by);

}  // namespace hone::analyze
