// SPDX-License-Identifier: Apache-2.0
// The tables of a report, by the names that --table takes.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/known.h"
#include "report/report.h"
#include "report/table.h"

namespace hone::report {

struct TableInfo {
  std::string name;
  std::string what;  // one clause, for help
  Known<Table> (*build)(const Report& report);
};

// In the order in which `--all` prints them.
std::span<const TableInfo> AllTables();
// Null: no table of that name.
const TableInfo* FindTable(std::string_view name);

// Of the column that a grouping adds: stacks and modules say most at their end.
inline Unit GroupUnit(analyze::GroupBy group_by) {
  return group_by == analyze::GroupBy::kNameShape ? Unit::kText : Unit::kPath;
}

// Of the leading input. Absent with the reason of the analysis behind it.
Known<Table> StepsTable(const Report& report);
Known<Table> FindingsTable(const Report& report);
Known<Table> CriticalPathTable(const Report& report);
Known<Table> IdleTable(const Report& report);
Known<Table> KernelsTable(const Report& report);
Known<Table> OpsTable(const Report& report);
Known<Table> TransfersTable(const Report& report);
Known<Table> SyncsTable(const Report& report);
Known<Table> CollectivesTable(const Report& report);
Known<Table> MemoryTable(const Report& report);
Known<Table> MemoryLinesTable(const Report& report);
Known<Table> PythonTable(const Report& report);
Known<Table> LinesTable(const Report& report);
Known<Table> FamiliesTable(const Report& report);
Known<Table> RooflineTable(const Report& report);
Known<Table> DevicesTable(const Report& report);
Known<Table> LossesTable(const Report& report);
Known<Table> RanksTable(const Report& report);

// In other tools' shape; absent unless --compat asked for them.
Known<Table> TraceLensTimelineTable(const Report& report);
Known<Table> TraceLensKernelsTable(const Report& report);
Known<Table> HtaBreakdownTable(const Report& report);
Known<Table> HtaIdleTable(const Report& report);

}  // namespace hone::report
