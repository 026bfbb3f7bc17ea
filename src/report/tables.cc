// SPDX-License-Identifier: Apache-2.0
#include "report/tables.h"

#include <array>

namespace hone::report {
namespace {

const std::array<TableInfo, 22>& Infos() {
  static const std::array<TableInfo, 22> kInfos = {{
      {"findings", "what is wrong, what it costs and what to type", FindingsTable},
      {"critical-path", "what decides how long a step takes, by name", CriticalPathTable},
      {"steps", "the steps and their durations", StepsTable},
      {"idle", "why the device stood idle, by cause", IdleTable},
      {"kernels", "device work by kernel", KernelsTable},
      {"ops", "operators, host and device time", OpsTable},
      {"families", "kernels by family and precision", FamiliesTable},
      {"roofline", "operators against the device's peaks", RooflineTable},
      {"transfers", "copies by direction and kind of memory", TransfersTable},
      {"syncs", "calls in which the host waits for the device", SyncsTable},
      {"collectives", "communication by kind and size", CollectivesTable},
      {"memory", "allocations by operator, live at the peak", MemoryTable},
      {"memory-lines", "allocations by line of your code, live at the peak", MemoryLinesTable},
      {"python", "Python functions", PythonTable},
      {"lines", "Python call sites", LinesTable},
      {"devices", "the timeline of each device", DevicesTable},
      {"ranks", "the ranks side by side", RanksTable},
      {"losses", "what could not be read or linked", LossesTable},
      {"tracelens-timeline", "with --compat tracelens: gpu_timeline", TraceLensTimelineTable},
      {"tracelens-kernels", "with --compat tracelens: kernel_summary", TraceLensKernelsTable},
      {"hta-breakdown", "with --compat hta: temporal breakdown", HtaBreakdownTable},
      {"hta-idle", "with --compat hta: idle time breakdown", HtaIdleTable},
  }};
  return kInfos;
}

}  // namespace

std::span<const TableInfo> AllTables() { return Infos(); }

const TableInfo* FindTable(std::string_view name) {
  for (const TableInfo& info : Infos()) {
    if (info.name == name) return &info;
  }
  return nullptr;
}

}  // namespace hone::report
