// SPDX-License-Identifier: Apache-2.0
#include "doctor/busiest_kernel.h"

#include <algorithm>

#include "analyze/forward_index.h"
#include "analyze/roofline.h"
#include "doctor/places.h"
#include "doctor/rank.h"

namespace hone::doctor {
namespace {

using replay::Task;
using replay::TaskId;
using replay::TaskKind;
using trace::kNoRow;
using trace::RowId;

// Of all device work. Of 159 recordings seven have such a kernel that multiplies no matrices; with
// what is found in them, there is nothing left to say in any.
constexpr double kMuch = 0.4;
// Of its time as the findings leave it: then they are about something else.
constexpr double kSame = 0.9;

double TimeOf(const replay::Graph& graph, const std::vector<Nanos>& duration_ns,
              const trace::Trace& trace, StringId name) {
  double time = 0;
  for (TaskId t = 0; t < graph.tasks.size(); ++t) {
    const Task& task = graph.tasks[t];
    if (task.kind != TaskKind::kKernel || trace.device.name[task.row] != name) continue;
    time += static_cast<double>(duration_ns[t]);
  }
  return time;
}

replay::Plan Fixed(const replay::WhatIf& whatif, const std::vector<Finding>& findings) {
  replay::Plan plan(whatif.model().graph());
  for (const replay::EditInfo& info : replay::AllEdits()) {
    const bool asked = std::any_of(findings.begin(), findings.end(), [&](const Finding& finding) {
      return std::find(finding.fix.begin(), finding.fix.end(), info.id) != finding.fix.end();
    });
    if (!asked) continue;
    const auto& edit = whatif.Find(info.id);
    if (edit) (*edit)->Apply(whatif.model(), replay::Guess::kLikely, plan);
  }
  return plan;
}

std::string SourceOf(const Case& the_case, RowId op) {
  const trace::Trace& trace = the_case.trace;
  const Places places(the_case);
  RowId row = op;
  // One row: the way up is short.
  while (row != kNoRow && !analyze::IsBackward(trace, row)) row = trace.host.parent[row];
  if (row != kNoRow) row = analyze::ForwardIndex(trace).Find(trace, row);
  return places.Of(row != kNoRow ? row : op).source;
}

}  // namespace

std::optional<BusiestKernel> FindBusiestKernel(const Case& the_case,
                                               const std::vector<Finding>& findings) {
  if (the_case.whatif == nullptr) return std::nullopt;
  const replay::Model& model = the_case.whatif->model();
  const replay::Graph& graph = model.graph();
  const trace::Trace& trace = the_case.trace;
  std::vector<double> by_name(trace.strings.size(), 0);
  double all = 0;
  for (const Task& task : graph.tasks) {
    const bool kernel = task.kind == TaskKind::kKernel;
    if (!kernel && task.kind != TaskKind::kCopy && task.kind != TaskKind::kCollective) continue;
    all += static_cast<double>(task.duration_ns);
    if (!kernel) continue;
    by_name[static_cast<std::uint32_t>(trace.device.name[task.row])] +=
        static_cast<double>(task.duration_ns);
  }
  const auto most = std::max_element(by_name.begin(), by_name.end());
  if (all <= 0 || *most < kMuch * all) return std::nullopt;
  if (*most < kHighShare * static_cast<double>(graph.measured_ns)) return std::nullopt;
  const auto name = static_cast<StringId>(most - by_name.begin());
  const auto example = std::find_if(graph.tasks.begin(), graph.tasks.end(), [&](const Task& task) {
    return task.kind == TaskKind::kKernel && trace.device.name[task.row] == name &&
           trace.device.op[task.row] != kNoRow;
  });
  const replay::Plan plan = Fixed(*the_case.whatif, findings);
  if (TimeOf(graph, plan.duration_ns, trace, name) < kSame * plan.samples * *most) {
    return std::nullopt;
  }
  if (analyze::IsMatrixFamily(analyze::ClassifyKernel(trace.Name(name)).family)) {
    return std::nullopt;
  }
  BusiestKernel found;
  found.name = std::string(trace.Name(name));
  found.share = *most / all;
  if (example != graph.tasks.end()) {
    const RowId op = trace.device.op[example->row];
    found.op = std::string(trace.HostName(op));
    found.source = SourceOf(the_case, op);
  }
  return found;
}

}  // namespace hone::doctor
