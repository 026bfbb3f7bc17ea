// SPDX-License-Identifier: Apache-2.0
// Tables about the host side: steps, operators, synchronizations, memory, Python.
#include <algorithm>

#include "analyze/python_time.h"
#include "base/text.h"
#include "report/tables.h"
#include "trace/record_again.h"

namespace hone::report {
namespace {

// Python rows, by function or by call site.
Table PythonRows(const analyze::PythonFacts& facts, const std::vector<analyze::PythonRow>& rows,
                 std::string name, std::string title) {
  std::vector<Column> columns = {{"name", Unit::kPath, 0},
                                 {"file", Unit::kPath, kDataOnly},
                                 {"line", Unit::kCount, kDataOnly},
                                 {"function", Unit::kText, kDataOnly},
                                 {facts.sampled ? "samples" : "calls", Unit::kCount, 0},
                                 {"self_ms", Unit::kMillis, 0}};
  if (facts.sampled) columns.push_back({"error_ms", Unit::kMillis, 0});
  columns.push_back({"total_ms", Unit::kMillis, 0});
  columns.push_back({"device_ms", Unit::kMillis, 1});
  Table table(std::move(name), std::move(title), std::move(columns));
  // Samples say nothing about what a function launched.
  const bool no_device = facts.sampled && &rows == &facts.functions;
  for (const analyze::PythonRow& row : rows) {
    const analyze::SourceFrame frame = analyze::ParseFrame(row.name);
    std::vector<Cell> cells = {
        TextCell(row.name),       TextCell(frame.file), frame.line > 0 ? Cell(frame.line) : Cell(),
        TextCell(frame.function), CountCell(row.calls), row.self_ns};
    if (facts.sampled) cells.emplace_back(row.error_ns);
    cells.emplace_back(row.total_ns);
    cells.push_back(no_device ? Cell() : Cell(row.device_ns));
    table.Add(std::move(cells));
  }
  return table;
}

// "Python functions", and what samples stand behind them.
std::string PythonTitle(const analyze::PythonFacts& facts, std::string title) {
  if (!facts.sampled) return title;
  return title + ": " + Count(facts.samples, "sample") + ", " + HumanDuration(facts.sampled_ns) +
         " of the steady steps";
}

}  // namespace

Known<Table> StepsTable(const Report& report) {
  const analyze::Steps& steps = report.leading().facts.steps;
  if (steps.steps.empty()) {
    return Known<Table>::Absent(steps.why_none.empty() ? "no steps were found" : steps.why_none);
  }
  Table table("steps", "the steps, from the start of the first",
              {{"number", Unit::kCount, 0},
               {"name", Unit::kText, 1},
               {"start_ms", Unit::kMillis, 0},
               {"ms", Unit::kMillis, 0},
               {"warm_up", Unit::kFlag, 0}});
  const Nanos first = steps.steps.front().span.begin_ns;
  for (const analyze::Step& step : steps.steps) {
    table.Add({KnownCount(step.number), TextCell(step.name), step.span.begin_ns - first,
               step.span.length(), step.warm_up});
  }
  return table;
}

Known<Table> OpsTable(const Report& report) {
  const Known<analyze::OpTable>& facts = report.leading().facts.ops;
  if (!facts) return Known<Table>::Absent(facts.why_not());
  const trace::Trace& trace = report.leading().trace;
  Table table("ops", "operators, host and device time",
              {{"name", Unit::kText, 0},
               {GroupByName(facts->group_by), GroupUnit(facts->group_by), 0},
               {"kind", Unit::kText, 9},
               {"calls", Unit::kCount, 0},
               {"device_self_ms", Unit::kMillis, 0},
               {"device_total_ms", Unit::kMillis, 1},
               {"device_self_share", Unit::kShare, 3},
               {"host_self_ms", Unit::kMillis, 0},
               {"host_total_ms", Unit::kMillis, 1},
               {"host_self_share", Unit::kShare, 5},
               {"host_mean_us", Unit::kMicros, 6},
               {"host_p50_us", Unit::kMicros, 8},
               {"host_p95_us", Unit::kMicros, 7},
               {"kernels", Unit::kCount, 2}});
  // Without device work these numbers are absent, not zero.
  const bool device = report.leading().facts.timeline.has_value();
  const auto on_device = [&](Cell cell) { return device ? cell : Cell(); };
  for (const analyze::OpRow& row : facts->rows) {
    const char* kind = row.kind == trace::SliceKind::kAnnotation ? "annotation" : "op";
    table.Add({TextCell(trace.Name(row.name)), TextCell(trace.Name(row.group)), kind,
               CountCell(row.calls), on_device(row.device_self_ns), on_device(row.device_total_ns),
               on_device(row.device_self_share), row.host_self_ns, row.host_total_ns,
               row.host_self_share, row.host_mean_ns, row.host_p50_ns, row.host_p95_ns,
               on_device(CountCell(row.kernels))});
  }
  if (facts->group_by == analyze::GroupBy::kName) table.DropColumn(1);
  return table;
}

Known<Table> SyncsTable(const Report& report) {
  const Known<analyze::SyncFacts>& facts = report.leading().facts.syncs;
  if (!facts) return Known<Table>::Absent(facts.why_not());
  const trace::Trace& trace = report.leading().trace;
  Table table("syncs", "calls in which the host waits for the device",
              {{"call", Unit::kText, 0},
               {"op", Unit::kText, 0},
               {"where", Unit::kPath, 1},
               {"by_profiler", Unit::kFlag, 3},
               {"count", Unit::kCount, 0},
               {"total_ms", Unit::kMillis, 0},
               {"max_ms", Unit::kMillis, 2},
               {"per_step", Unit::kNumber, 1}});
  const bool stepped = report.leading().facts.steps.steady_count() > 0;
  for (const analyze::SyncRow& row : facts->rows) {
    table.Add({TextCell(trace.Name(row.call)), TextCell(trace.Name(row.op)), TextCell(row.where),
               row.by_profiler, CountCell(row.count), row.total_ns, row.max_ns,
               stepped ? Cell(row.per_step) : Cell()});
  }
  return table;
}

namespace {

std::string MemoryName(const analyze::DeviceMemory& device) {
  if (device.type == trace::MemoryDevice::kHost) return "host";
  return (device.type == trace::MemoryDevice::kGpu ? "gpu " : "other ") +
         std::to_string(device.device_id);
}

}  // namespace

Known<Table> MemoryTable(const Report& report) {
  const Known<analyze::MemoryFacts>& facts = report.leading().facts.memory;
  if (!facts) return Known<Table>::Absent(facts.why_not());
  const trace::Trace& trace = report.leading().trace;
  Table table("memory", "allocations by operator, live at the peak",
              {{"device", Unit::kText, 0},
               {"op", Unit::kText, 0},
               {"allocations", Unit::kCount, 0},
               {"allocated_bytes", Unit::kBytes, 0},
               {"live_at_peak_bytes", Unit::kBytes, 0}});
  for (const analyze::DeviceMemory& device : facts->devices) {
    const std::string_view name = table.Keep(MemoryName(device));
    for (const analyze::MemoryOpRow& row : device.ops) {
      table.Add({name, TextCell(trace.Name(row.op)), CountCell(row.allocations), row.allocated,
                 row.live_at_peak});
    }
  }
  return table;
}

Known<Table> MemoryLinesTable(const Report& report) {
  const Known<analyze::MemoryFacts>& facts = report.leading().facts.memory;
  if (!facts) return Known<Table>::Absent(facts.why_not());
  const bool known = std::any_of(facts->devices.begin(), facts->devices.end(),
                                 [](const auto& device) { return !device.lines.empty(); });
  if (!known) {
    return Known<Table>::Absent(
        std::string("no allocation has a source line; ") +
        trace::RecordAgain(report.leading().trace.info, trace::Lacking::kStacks));
  }
  Table table("memory-lines", "allocations by line of your code, live at the peak",
              {{"device", Unit::kText, 0},
               {"line", Unit::kText, 0},
               {"allocations", Unit::kCount, 0},
               {"allocated_bytes", Unit::kBytes, 0},
               {"live_at_peak_bytes", Unit::kBytes, 0},
               {"kept_bytes", Unit::kBytes, 0}});
  for (const analyze::DeviceMemory& device : facts->devices) {
    const std::string_view name = table.Keep(MemoryName(device));
    for (const analyze::MemoryLineRow& row : device.lines) {
      table.Add({name, TextCell(row.line), CountCell(row.allocations), row.allocated,
                 row.live_at_peak, row.kept});
    }
  }
  return table;
}

Known<Table> PythonTable(const Report& report) {
  const Known<analyze::PythonFacts>& facts = report.leading().facts.python;
  if (!facts) return Known<Table>::Absent(facts.why_not());
  return PythonRows(*facts, facts->functions, "python", PythonTitle(*facts, "Python functions"));
}

Known<Table> LinesTable(const Report& report) {
  const Known<analyze::PythonFacts>& facts = report.leading().facts.python;
  if (!facts) return Known<Table>::Absent(facts.why_not());
  return PythonRows(
      *facts, facts->lines, "lines",
      facts->lines_are_definitions
          ? "Python call sites (lines are where the function is defined)"
          : PythonTitle(*facts, facts->sampled ? "Python lines" : "Python call sites"));
}

}  // namespace hone::report
