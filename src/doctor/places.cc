// SPDX-License-Identifier: Apache-2.0
#include "doctor/places.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace hone::doctor {

std::string Times(double per_step) {
  const bool whole = std::abs(per_step - std::round(per_step)) < 0.005;
  return Fixed(per_step, whole ? 0 : per_step < 1 ? 2 : 1);
}

std::string Times(double per_step, std::string_view one, std::string_view many) {
  const std::string times = Times(per_step);
  if (times == "1") return fmt::format("1 {}", one);
  return many.empty() ? fmt::format("{} {}s", times, one) : fmt::format("{} {}", times, many);
}

Places::Places(const Case& the_case)
    : case_(the_case), lineage_(the_case.trace), sites_(the_case.trace, lineage_) {}

Place Places::Of(trace::RowId host_row) const {
  const trace::Trace& trace = case_.trace;
  Place place;
  place.source = analyze::SourceText(sites_.Of(host_row));
  const trace::RowId op = lineage_.top_op[host_row];
  if (op != trace::kNoRow) place.op = std::string(trace.HostName(op));
  place.thread = fmt::format("thread {}", trace.threads[trace.host.thread[host_row]].tid);
  place.start_ns = trace.host.start_ns[host_row];
  place.duration_ns = trace.host.duration_ns[host_row];
  const std::vector<analyze::Step>& steps = case_.facts.steps.steps;
  const auto after = std::upper_bound(
      steps.begin(), steps.end(), place.start_ns,
      [](Nanos time, const analyze::Step& step) { return time < step.host_span.begin_ns; });
  if (after != steps.begin() && place.start_ns < (after - 1)->host_span.end_ns) {
    place.step = (after - 1)->name;
  }
  return place;
}

std::string Places::CallerOf(trace::RowId host_row, std::string_view frame) const {
  const trace::Trace& trace = case_.trace;
  if (frame.empty()) return {};
  const std::string_view own = analyze::WrittenFunction(analyze::ParseFrame(frame));
  const auto calls = [&](std::string_view other) {
    const analyze::SourceFrame parsed = analyze::ParseFrame(other);
    return analyze::IsUserFrame(parsed) && analyze::WrittenFunction(parsed) != own;
  };
  if (const trace::RowId op = lineage_.top_op[host_row]; op != trace::kNoRow) {
    std::string_view stack = trace.Name(trace.op_details[trace.host.detail[op]].stack);
    const std::size_t at = stack.find(frame);
    if (at != std::string_view::npos) {
      for (stack.remove_prefix(at + frame.size()); !stack.empty();) {
        stack.remove_prefix(std::min(stack.find_first_not_of("; "), stack.size()));
        const std::string_view outer = stack.substr(0, stack.find(';'));
        if (calls(outer)) return analyze::SourceText(outer);
        stack.remove_prefix(outer.size());
      }
      return {};
    }
  }
  // One row of one finding: the way up is short.
  for (trace::RowId row = host_row; row != trace::kNoRow; row = trace.host.parent[row]) {
    if (trace.host.kind[row] == trace::SliceKind::kPython && calls(trace.HostName(row))) {
      return analyze::SourceText(trace.HostName(row));
    }
  }
  return {};
}

}  // namespace hone::doctor
