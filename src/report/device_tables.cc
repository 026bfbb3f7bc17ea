// SPDX-License-Identifier: Apache-2.0
// Tables about device work: kernels, families, roofline, transfers, devices, idle.
#include <cmath>

#include "analyze/kernel_family.h"
#include "report/tables.h"

namespace hone::report {
namespace {

const char* ClassName(analyze::WorkClass work_class) {
  switch (work_class) {
    case analyze::WorkClass::kCompute: return "compute";
    case analyze::WorkClass::kCommunication: return "communication";
    case analyze::WorkClass::kCopy: return "copy";
  }
  return "compute";
}

const char* KindName(trace::WorkKind kind) {
  switch (kind) {
    case trace::WorkKind::kKernel: return "kernel";
    case trace::WorkKind::kCopy: return "copy";
    case trace::WorkKind::kSet: return "set";
    case trace::WorkKind::kGraph: return "graph";
  }
  return "kernel";
}

// Recorded in whole percent and averaged in single precision; more digits would be noise.
Cell Occupancy(float percent) {
  if (percent < 0) return Cell();
  return std::round(static_cast<double>(percent) * 100) / 100;
}

}  // namespace

Known<Table> KernelsTable(const Report& report) {
  const Known<analyze::KernelTable>& facts = report.leading().facts.kernels;
  if (!facts) return Known<Table>::Absent(facts.why_not());
  const trace::Trace& trace = report.leading().trace;
  Table table("kernels", "device work by kernel",
              {{"name", Unit::kKernel, 0},
               {"op", Unit::kText, 2},
               {GroupByName(facts->group_by), GroupUnit(facts->group_by), 0},
               {"class", Unit::kText, 6},
               {"kind", Unit::kText, 8},
               {"count", Unit::kCount, 0},
               {"total_ms", Unit::kMillis, 0},
               {"mean_us", Unit::kMicros, 1},
               {"min_us", Unit::kMicros, 7},
               {"p50_us", Unit::kMicros, 4},
               {"p95_us", Unit::kMicros, 3},
               {"max_us", Unit::kMicros, 5},
               {"share", Unit::kShare, 0},
               {"occupancy_pct", Unit::kNumber, 7}});
  for (const analyze::KernelRow& row : facts->rows) {
    table.Add({TextCell(trace.Name(row.name)), TextCell(trace.Name(row.op)),
               TextCell(trace.Name(row.group)), ClassName(row.work_class), KindName(row.kind),
               CountCell(row.time.count), row.time.total_ns, row.time.mean_ns, row.time.min_ns,
               row.time.p50_ns, row.time.p95_ns, row.time.max_ns, row.share,
               Occupancy(row.occupancy_pct)});
  }
  if (facts->group_by == analyze::GroupBy::kName) table.DropColumn(2);
  return table;
}

Known<Table> FamiliesTable(const Report& report) {
  const Known<analyze::EfficiencyFacts>& facts = report.leading().facts.efficiency;
  if (!facts) return Known<Table>::Absent(facts.why_not());
  Table table("families", "kernels by family and precision",
              {{"family", Unit::kText, 0},
               {"precision", Unit::kText, 0},
               {"matrix_unit", Unit::kText, 0},
               {"count", Unit::kCount, 0},
               {"total_ms", Unit::kMillis, 0},
               {"share", Unit::kShare, 0}});
  for (const analyze::FamilyRow& row : facts->families) {
    table.Add({std::string_view(analyze::FamilyName(row.family)),
               std::string_view(analyze::PrecisionName(row.precision)),
               std::string_view(analyze::MatrixUnitName(row.matrix_unit)), CountCell(row.count),
               row.total_ns, row.share});
  }
  return table;
}

Known<Table> RooflineTable(const Report& report) {
  const Known<analyze::EfficiencyFacts>& facts = report.leading().facts.efficiency;
  if (!facts) return Known<Table>::Absent(facts.why_not());
  if (!facts->roofline) return Known<Table>::Absent(facts->roofline.why_not());
  const trace::Trace& trace = report.leading().trace;
  Table table("roofline", "operators against the device's peaks",
              {{"op", Unit::kText, 0},
               {"dims", Unit::kText, 1},
               {"types", Unit::kText, 9},
               {"calls", Unit::kCount, 3},
               {"device_ms", Unit::kMillis, 0},
               {"flops", Unit::kNumber, 8},
               {"bytes", Unit::kNumber, 8},
               {"precision", Unit::kText, 4},
               {"tflops_per_s", Unit::kNumber, 0},
               {"gbytes_per_s", Unit::kNumber, 2},
               {"roofline_share", Unit::kShare, 0},
               {"bound", Unit::kText, 1}});
  for (const analyze::RooflineRow& row : *facts->roofline) {
    table.Add({TextCell(trace.Name(row.op)), TextCell(trace.Name(row.dims)),
               TextCell(trace.Name(row.types)), CountCell(row.calls), row.device_ns, row.flops,
               row.bytes, std::string_view(analyze::PrecisionName(row.precision)), row.tflops_per_s,
               row.gbytes_per_s, CellOf(row.roofline_share),
               std::string_view(row.memory_bound ? "memory" : "compute")});
  }
  return table;
}

Known<Table> TransfersTable(const Report& report) {
  const Known<analyze::TransferFacts>& facts = report.leading().facts.transfers;
  if (!facts) return Known<Table>::Absent(facts.why_not());
  Table table("transfers", "copies by direction and kind of memory",
              {{"direction", Unit::kText, 0},
               {"source", Unit::kText, 0},
               {"target", Unit::kText, 0},
               {"count", Unit::kCount, 0},
               {"bytes", Unit::kBytes, 0},
               {"total_ms", Unit::kMillis, 0},
               {"exposed_ms", Unit::kMillis, 0},
               {"gbytes_per_s", Unit::kNumber, 0},
               {"link_share", Unit::kShare, 1}});
  for (const analyze::TransferRow& row : facts->rows) {
    table.Add({std::string_view(analyze::DirectionName(row.direction)),
               std::string_view(analyze::MemoryKindName(row.source)),
               std::string_view(analyze::MemoryKindName(row.target)), CountCell(row.count),
               row.sized > 0 ? Cell(row.bytes) : Cell(), row.total_ns, row.exposed_ns,
               CellOf(row.gbytes_per_s), CellOf(row.link_share)});
  }
  return table;
}

Known<Table> DevicesTable(const Report& report) {
  const Known<analyze::Timeline>& facts = report.leading().facts.timeline;
  if (!facts) return Known<Table>::Absent(facts.why_not());
  const trace::Trace& trace = report.leading().trace;
  Table table("devices", "the timeline of each device, whole trace",
              {{"device", Unit::kCount, 0},
               {"name", Unit::kText, 1},
               {"work_count", Unit::kCount, 6},
               {"total_ms", Unit::kMillis, 0},
               {"busy_ms", Unit::kMillis, 0},
               {"compute_ms", Unit::kMillis, 0},
               {"exposed_comm_ms", Unit::kMillis, 0},
               {"exposed_copy_ms", Unit::kMillis, 0},
               {"idle_ms", Unit::kMillis, 0},
               {"comm_ms", Unit::kMillis, 4},
               {"copy_ms", Unit::kMillis, 5},
               {"busy_share", Unit::kShare, 2}});
  for (const analyze::DeviceTimeline& device : facts->devices) {
    const bool named = device.device < trace.devices.size();
    const analyze::TimelineSplit& split = device.whole;
    const auto total = static_cast<double>(split.total_ns);
    table.Add({named ? KnownCount(trace.devices[device.device].id) : Cell(),
               named ? TextCell(trace.devices[device.device].name) : Cell(),
               CountCell(device.work_count), split.total_ns, split.busy_ns, split.compute_ns,
               split.exposed_comm_ns, split.exposed_copy_ns, split.idle_ns, split.comm_ns,
               split.copy_ns,
               split.total_ns > 0 ? Cell(static_cast<double>(split.busy_ns) / total) : Cell()});
  }
  return table;
}

Known<Table> IdleTable(const Report& report) {
  const Known<analyze::IdleFacts>& facts = report.leading().facts.idle;
  if (!facts) return Known<Table>::Absent(facts.why_not());
  Table table("idle", "why the device stood idle, by cause",
              {{"cause", Unit::kText, 0},
               {"ms", Unit::kMillis, 0},
               {"steady_ms", Unit::kMillis, 0},
               {"count", Unit::kCount, 0},
               {"share", Unit::kShare, 0}});
  Nanos total = 0;
  for (const Nanos part : facts->whole_ns) total += part;
  for (std::size_t i = 0; i < analyze::kIdleCauseCount; ++i) {
    const double share =
        total > 0 ? static_cast<double>(facts->whole_ns[i]) / static_cast<double>(total) : 0;
    table.Add({std::string_view(analyze::IdleCauseId(static_cast<analyze::IdleCause>(i))),
               facts->whole_ns[i], facts->steady_ns[i], CountCell(facts->count[i]), share});
  }
  table.text_order = "ms";
  return table;
}

}  // namespace hone::report
