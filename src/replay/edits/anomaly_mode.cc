// SPDX-License-Identifier: Apache-2.0
// anomaly-mode: gradients are not looked through, and nodes keep no stacks.
#include "replay/edits/anomaly_mode.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <string_view>
#include <unordered_map>

#include "analyze/autograd_engine.h"
#include "analyze/slice_times.h"
#include "analyze/source_frame.h"
#include "base/text.h"
#include "replay/edits/edits.h"

namespace hone::replay {
namespace {

using trace::kNoRow;
using trace::RowId;
using trace::SliceKind;

// Of the nodes, those that are checked: all but such as give no gradient. Hooks of a program that
// look for NaN stand at few of them, and before the node or behind its last gradient.
constexpr double kLeastChecked = 0.5;
// Operators that compute nothing: beside the stack of their node they take this, recorded with
// torch 2.13 on one core (view, t and transpose 0.6 to 1.9 us without anomaly detection).
constexpr std::array<std::string_view, 9> kFree = {
    "aten::view",   "aten::t",       "aten::transpose", "aten::permute", "aten::unsqueeze",
    "aten::expand", "aten::squeeze", "aten::select",    "aten::slice"};
constexpr Nanos kFreeNs = 1'500;
// Texts of stacks are what Python's collector walks through in between, which counts for the
// operator it happens to stop; and freeing them is in no operator.
constexpr double kLeastStrength = 0.85;

enum class Role : std::uint8_t { kUnseen, kOther, kNode, kLeaf, kLook, kRest, kFree, kFormat };

Role RoleOf(std::string_view name, SliceKind kind) {
  if (kind == SliceKind::kPython) {
    const analyze::SourceFrame frame = analyze::ParseFrame(name);
    return frame.function == "format_stack" && frame.file.ends_with("traceback.py") ? Role::kFormat
                                                                                    : Role::kOther;
  }
  // A leaf's node takes a gradient and gives none.
  if (const std::string_view node = analyze::EngineNode(name); !node.empty()) {
    return node.ends_with("AccumulateGrad") ? Role::kLeaf : Role::kNode;
  }
  if (name == "aten::isnan") return Role::kLook;
  if (name == "aten::_is_any_true" || name == "aten::any" || name == "aten::item" ||
      name == "aten::is_nonzero") {
    return Role::kRest;
  }
  return std::find(kFree.begin(), kFree.end(), name) != kFree.end() ? Role::kFree : Role::kOther;
}

class Roles {
 public:
  explicit Roles(const trace::Trace& trace)
      : trace_(trace), known_(trace.strings.size(), Role::kUnseen) {}

  Role Of(RowId row) {
    const SliceKind kind = trace_.host.kind[row];
    if (kind != SliceKind::kOp && kind != SliceKind::kPython) return Role::kOther;
    Role& role = known_[static_cast<std::uint32_t>(trace_.host.name[row])];
    if (role == Role::kUnseen) role = RoleOf(trace_.HostName(row), kind);
    return role;
  }

 private:
  const trace::Trace& trace_;
  std::vector<Role> known_;
};

// Checks stand directly in the node and behind what it computes, which has the node's own name.
void FindChecks(const Model& model, Roles& roles, AnomalyMode& found) {
  const trace::Trace& trace = model.trace();
  const trace::HostSlices& host = trace.host;
  RowId node = kNoRow;
  bool computed = false, checked = false;
  for (RowId i = 0; i < host.size(); ++i) {
    if (!model.InWindow(i)) continue;
    const Role role = roles.Of(i);
    if (role == Role::kNode || role == Role::kLeaf) {
      node = i;
      computed = checked = false;
      ++(role == Role::kNode ? found.nodes : found.leaves);
      continue;
    }
    if (node == kNoRow || host.parent[i] != node || roles.Of(node) == Role::kLeaf) continue;
    computed = computed || trace.HostName(i) == analyze::EngineNode(trace.HostName(node));
    if (computed && role == Role::kLook && !checked) {
      checked = true;
      ++found.checked;
      if (found.example == kNoRow) found.example = node;
      found.checks.push_back({model.LaneOf(i), {host.start_ns[i], host.end_ns(i)}});
    } else if (checked && (role == Role::kLook || role == Role::kRest)) {
      found.checks.back().span.end_ns = host.end_ns(i);
    }
  }
}

// Operators of the forward pass that made a node each: of those that carry its number the last.
std::vector<RowId> FindMakers(const Model& model) {
  const trace::HostSlices& host = model.trace().host;
  std::vector<RowId> makers;
  for (const trace::Thread& thread : model.trace().threads) {
    std::unordered_map<std::int64_t, RowId> last;
    for (RowId i = thread.first_slice; i < thread.last_slice; ++i) {
      if (host.kind[i] != SliceKind::kOp || host.link[i] < 0 || !model.InWindow(i)) continue;
      const RowId top = model.lineage().top_op[i];
      if (top != kNoRow && model.trace().HostName(top).starts_with("autograd::")) continue;
      last[host.link[i]] = i;
    }
    for (const auto& [number, row] : last) makers.push_back(row);
  }
  std::sort(makers.begin(), makers.end());
  return makers;
}

// What a stack takes is what operators take that do nothing else.
void FindStacks(const Model& model, Roles& roles, AnomalyMode& found) {
  const trace::HostSlices& host = model.trace().host;
  const std::vector<Nanos> self = analyze::SelfTimes(model.trace());
  for (RowId i = 0; i < host.size(); ++i) {
    found.formats_stacks =
        found.formats_stacks ||
        (roles.Of(i) == Role::kFormat && model.InWindow(i) && model.lineage().op[i] != kNoRow);
  }
  const std::vector<RowId> makers = FindMakers(model);
  Nanos total = 0, free = 0;
  for (const RowId row : makers) {
    if (roles.Of(row) != Role::kFree) continue;
    total += self[row];
    ++free;
  }
  // The mean: what other programs on the cores and the collector add, they add to every stack.
  const Nanos stack = free == 0 ? 0 : std::max<Nanos>(0, total / free - kFreeNs);
  if (stack == 0) return;
  // A parameter's node is made where the forward pass first uses it, a step anew: in an addmm for
  // its bias, in a layer_norm for two. Operators that compute nothing show theirs already.
  const double compute = static_cast<double>(makers.size()) - static_cast<double>(free);
  const double more = static_cast<double>(found.leaves) / std::max(1.0, compute);
  const auto most = stack + std::llround(static_cast<double>(stack) * more);
  const auto span = [&](RowId row, Nanos gone) {
    return HostSpan{
        model.LaneOf(row), {host.start_ns[row], host.end_ns(row)}, host.duration_ns[row] - gone};
  };
  for (const RowId row : makers) {
    const bool is_free = roles.Of(row) == Role::kFree;
    const Nanos gone = is_free ? self[row] - kFreeNs : std::min(stack, self[row]);
    if (gone <= 0) continue;
    found.makers.push_back(span(row, gone));
    found.makers_at_most.push_back(span(row, is_free ? gone : std::min<Nanos>(most, self[row])));
  }
}

class NoAnomalyMode : public Edit {
 public:
  NoAnomalyMode(HostCut checks, HostCut makers, HostCut at_most, std::vector<TaskId> work)
      : checks_(std::move(checks)),
        makers_(std::move(makers)),
        at_most_(std::move(at_most)),
        work_(std::move(work)) {}

  void Apply(const Model& model, Guess guess, Plan& plan) const override {
    checks_.Apply(model.graph(), 1.0, plan);
    checks_.DropWaits(model.graph(), plan);
    for (const TaskId task : work_) plan.RemoveWork(task);
    const HostCut& stacks = guess == Guess::kMost ? at_most_ : makers_;
    stacks.Apply(model.graph(), guess == Guess::kLeast ? kLeastStrength : 1.0, plan);
  }

  std::string Scope(const Model& model) const override {
    const auto steps = static_cast<double>(model.graph().steps);
    return fmt::format("{} ms a step of looking for NaN, {} ms of keeping stacks",
                       ThreeDigits(static_cast<double>(checks_.gone_ns()) / 1e6 / steps),
                       ThreeDigits(static_cast<double>(makers_.gone_ns()) / 1e6 / steps));
  }

 private:
  const HostCut checks_, makers_, at_most_;
  const std::vector<TaskId> work_;  // that the checks launch
};

}  // namespace

bool AnomalyMode::On() const {
  return formats_stacks ||
         (nodes > 0 && static_cast<double>(checked) >= kLeastChecked * static_cast<double>(nodes));
}

AnomalyMode LookAtAnomalyMode(const Model& model) {
  AnomalyMode found;
  Roles roles(model.trace());
  FindChecks(model, roles, found);
  FindStacks(model, roles, found);
  found.check_ns = HostCut(model.graph(), found.checks).gone_ns();
  found.stack_ns = HostCut(model.graph(), found.makers).gone_ns();
  return found;
}

FoundEdit FindAnomalyMode(const Model& model) {
  const trace::Trace& trace = model.trace();
  AnomalyMode found = LookAtAnomalyMode(model);
  if (!found.On()) return FoundEdit::Absent("no backward pass in the steps looks for NaN");
  HostCut checks(model.graph(), std::move(found.checks));
  std::vector<TaskId> work;
  for (RowId w = 0; w < trace.device.size(); ++w) {
    const RowId call = trace.device.api[w];
    const TaskId task = model.graph().of_device[w];
    if (call == kNoRow || task == kNoTask || model.LaneOf(call) == UINT16_MAX) continue;
    if (checks.Contains(model.LaneOf(call), trace.host.start_ns[call])) work.push_back(task);
  }
  return FoundEdit(std::make_unique<NoAnomalyMode>(
      std::move(checks), HostCut(model.graph(), std::move(found.makers)),
      HostCut(model.graph(), std::move(found.makers_at_most)), std::move(work)));
}

}  // namespace hone::replay
