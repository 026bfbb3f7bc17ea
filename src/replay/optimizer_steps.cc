// SPDX-License-Identifier: Apache-2.0
#include "replay/optimizer_steps.h"

#include <algorithm>
#include <string_view>

#include "analyze/autograd_engine.h"
#include "analyze/source_frame.h"

namespace hone::replay {
namespace {

using trace::kNoRow;
using trace::RowId;
using trace::SliceKind;

enum class Role : std::uint8_t { kUnseen, kOther, kMark, kEngine, kClosure };

// The engine's nodes stand in every trace with operators; the closure itself only among Python
// frames, where it also holds what follows the backward pass, such as clipping.
Role RoleOf(std::string_view name, SliceKind kind) {
  switch (kind) {
    case SliceKind::kAnnotation:
      return name.starts_with("Optimizer.step") ? Role::kMark : Role::kOther;
    case SliceKind::kOp: return analyze::IsEngineSlice(name) ? Role::kEngine : Role::kOther;
    case SliceKind::kPython:
      return analyze::ParseFrame(name).function.ends_with("closure") ? Role::kClosure
                                                                     : Role::kOther;
    default: return Role::kOther;
  }
}

}  // namespace

std::vector<OptimizerStep> FindOptimizerSteps(const trace::Trace& trace) {
  const trace::HostSlices& host = trace.host;
  std::vector<Role> roles(trace.strings.size(), Role::kUnseen);
  std::vector<OptimizerStep> steps;
  std::vector<RowId> parts;  // of backward passes and closures
  for (RowId i = 0; i < host.size(); ++i) {
    const SliceKind kind = host.kind[i];
    if (kind != SliceKind::kAnnotation && kind != SliceKind::kOp && kind != SliceKind::kPython) {
      continue;
    }
    Role& role = roles[static_cast<std::uint32_t>(host.name[i])];
    if (role == Role::kUnseen) role = RoleOf(trace.HostName(i), kind);
    if (role == Role::kEngine || role == Role::kClosure) parts.push_back(i);
    if (role != Role::kMark) continue;
    const bool inside = !steps.empty() && host.thread[steps.back().row] == host.thread[i] &&
                        host.start_ns[i] < host.end_ns(steps.back().row);
    if (!inside) steps.push_back({i, host.start_ns[i]});
  }
  // By time: a device's backward pass runs on a thread of its own.
  std::vector<std::size_t> by_time(steps.size());
  for (std::size_t s = 0; s < steps.size(); ++s) by_time[s] = s;
  std::stable_sort(by_time.begin(), by_time.end(), [&](std::size_t a, std::size_t b) {
    return host.start_ns[steps[a].row] < host.start_ns[steps[b].row];
  });
  for (const RowId part : parts) {
    const auto after = std::upper_bound(
        by_time.begin(), by_time.end(), host.start_ns[part],
        [&](Nanos time, std::size_t s) { return time < host.start_ns[steps[s].row]; });
    if (after == by_time.begin()) continue;
    OptimizerStep& step = steps[*(after - 1)];
    const bool same_process =
        trace.threads[host.thread[step.row]].process == trace.threads[host.thread[part]].process;
    if (!same_process || host.end_ns(part) > host.end_ns(step.row)) continue;
    step.begin_ns = std::max(step.begin_ns, host.end_ns(part));
  }
  return steps;
}

}  // namespace hone::replay
