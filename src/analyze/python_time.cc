// SPDX-License-Identifier: Apache-2.0
#include "analyze/python_time.h"

#include <algorithm>
#include <string>
#include <unordered_map>

#include "analyze/grouping.h"
#include "analyze/sample_time.h"
#include "trace/running.h"

namespace hone::analyze {
namespace {

using trace::kNoRow;
using trace::RowId;
using trace::SliceKind;

// Device time launched by each host row itself: by the call, else by the operator.
std::vector<Nanos> DeviceTimeByRow(const trace::Trace& trace) {
  std::vector<Nanos> time(trace.host.size(), 0);
  for (RowId w = 0; w < trace.device.size(); ++w) {
    const RowId from = trace.device.api[w] != kNoRow ? trace.device.api[w] : trace.device.op[w];
    if (from != kNoRow) time[from] = SaturatingAdd(time[from], trace.device.duration_ns[w]);
  }
  // Parents stand before children, so one backward pass makes it inclusive.
  for (auto i = static_cast<RowId>(trace.host.size()); i-- > 0;) {
    const RowId parent = trace.host.parent[i];
    if (parent != kNoRow) time[parent] = SaturatingAdd(time[parent], time[i]);
  }
  return time;
}

// The Python slice that each one is inside of.
std::vector<RowId> PythonParents(const trace::HostSlices& host) {
  std::vector<RowId> around(host.size(), kNoRow), nearest(host.size(), kNoRow);
  for (RowId i = 0; i < host.size(); ++i) {
    if (host.parent[i] != kNoRow) around[i] = nearest[host.parent[i]];
    nearest[i] = host.kind[i] == SliceKind::kPython ? i : around[i];
  }
  return around;
}

std::vector<PythonRow> Functions(const trace::Trace& trace, const std::vector<Nanos>& device) {
  const trace::HostSlices& host = trace.host;
  const std::vector<RowId> around = PythonParents(host);
  std::vector<PythonRow> by_name(trace.strings.size());
  std::vector<std::uint32_t> open_calls(trace.strings.size(), 0);
  std::vector<RowId> open;
  trace::Running running(host);
  const auto name_of = [&](RowId i) { return static_cast<std::uint32_t>(host.name[i]); };
  for (RowId i = 0; i < host.size(); ++i) {
    if (host.kind[i] != SliceKind::kPython) continue;
    // A slice is done when the next one is not inside it, whatever the clocks say.
    while (!open.empty() && open.back() != around[i]) {
      --open_calls[name_of(open.back())];
      open.pop_back();
    }
    PythonRow& row = by_name[name_of(i)];
    ++row.calls;
    row.self_ns = SaturatingAdd(row.self_ns, host.duration_ns[i]);
    if (open_calls[name_of(i)]++ == 0) {  // the outermost of a recursion
      row.total_ns = SaturatingAdd(row.total_ns, host.duration_ns[i]);
      row.device_ns = SaturatingAdd(row.device_ns, device[i]);
    }
    open.push_back(i);
    const RowId interrupted = running.Around(i);
    running.Begin(i);
    if (interrupted == kNoRow) continue;
    by_name[name_of(interrupted)].self_ns -= trace::TimeInside(host, i, interrupted);
  }
  std::vector<PythonRow> rows;
  for (std::uint32_t name = 0; name < by_name.size(); ++name) {
    if (by_name[name].calls == 0) continue;
    by_name[name].name = trace.Name(static_cast<StringId>(name));
    by_name[name].self_ns = std::max<Nanos>(0, by_name[name].self_ns);
    rows.push_back(by_name[name]);
  }
  return rows;
}

// Outermost operators by the place that called them.
std::vector<PythonRow> Lines(const trace::Trace& trace, const Lineage& lineage,
                             const std::vector<Nanos>& device) {
  const CallSites sites(trace, lineage);
  std::unordered_map<std::string_view, std::size_t> index;
  std::vector<PythonRow> rows;
  std::string_view last_site;  // the same line often calls several operators in a row
  std::size_t last = 0;
  for (RowId i = 0; i < trace.host.size(); ++i) {
    if (lineage.top_op[i] != i) continue;
    const std::string_view site = sites.Of(i);
    if (site.empty()) continue;
    if (site.data() != last_site.data() || site.size() != last_site.size()) {
      const auto [at, fresh] = index.try_emplace(site, rows.size());
      if (fresh) rows.push_back({.name = site});
      last_site = site;
      last = at->second;
    }
    PythonRow& row = rows[last];
    ++row.calls;
    row.total_ns = SaturatingAdd(row.total_ns, trace.host.duration_ns[i]);
    row.self_ns = row.total_ns;
    row.device_ns = SaturatingAdd(row.device_ns, device[i]);
  }
  return rows;
}

void SortBySelf(std::vector<PythonRow>& rows) {
  std::sort(rows.begin(), rows.end(), [](const PythonRow& a, const PythonRow& b) {
    if (a.self_ns != b.self_ns) return a.self_ns > b.self_ns;
    return a.name < b.name;
  });
}

// Where the recorder could not read this Python it said why, among what else it missed:
// "operators: …; python: in this Python's memory was not found: …; no Python lines in …".
std::string WhyNotRecorded(const trace::Trace& trace) {
  std::string text = "no stacks of Python were recorded";
  const std::string_view said = trace.losses[LossKind::kNotRecorded].first_detail;
  constexpr std::string_view kPython = "python: ";
  std::size_t at = said.starts_with(kPython) ? 0 : said.find("; python: ");
  if (at == std::string_view::npos) return text;
  at = said.find(kPython, at);
  text += ": ";
  text += said.substr(at + kPython.size(), said.find(';', at) - at - kPython.size());
  return text;
}

}  // namespace

Known<PythonFacts> MeasurePython(const trace::Trace& trace, const Lineage& lineage,
                                 const Steps& steps) {
  const auto& kinds = trace.host.kind;
  const bool frames = std::find(kinds.begin(), kinds.end(), SliceKind::kPython) != kinds.end();
  const bool stacks =
      std::any_of(trace.op_details.begin(), trace.op_details.end(),
                  [](const trace::OpDetail& detail) { return detail.stack != StringId::kEmpty; });
  if (!frames && !stacks && trace.samples.size() == 0) {
    if (trace.info.format == trace::Format::kHone) {
      return Known<PythonFacts>::Absent(WhyNotRecorded(trace));
    }
    return Known<PythonFacts>::Absent(
        trace.info.format == trace::Format::kNsys
            ? "Python frames are not read from Nsight Systems exports"
        : trace.info.with_stack == 0
            ? "with_stack was off"
            : "no Python frames or call stacks in this trace; record with with_stack=True");
  }
  const std::vector<Nanos> device = DeviceTimeByRow(trace);
  PythonFacts facts;
  facts.functions = Functions(trace, device);
  facts.lines = Lines(trace, lineage, device);
  if (!frames && trace.samples.size() > 0) TimeBySamples(trace, steps, facts);
  // PyTorch writes the line where a function is defined into its Python frames, and since it
  // records frames it takes call stacks from them. Stacks without frames come from older versions,
  // which wrote the line of the call.
  facts.lines_are_definitions = frames;
  SortBySelf(facts.functions);
  SortBySelf(facts.lines);
  return facts;
}

}  // namespace hone::analyze
