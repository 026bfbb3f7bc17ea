// SPDX-License-Identifier: Apache-2.0
#include "replay/edits/stale_gradients.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "analyze/autograd_engine.h"
#include "analyze/forward_index.h"
#include "base/torch_scope.h"
#include "replay/edits/optimizer_shapes.h"

namespace hone::replay {
namespace {

using trace::kNoRow;
using trace::RowId;
using trace::SliceKind;

constexpr std::string_view kLeaf = "torch::autograd::AccumulateGrad";
// Once may be chance: the optimizer of some parameters may step more rarely than another.
constexpr std::uint64_t kLeastJudged = 2;

enum class Role : std::uint8_t {
  kUnseen,
  kOther,
  kNode,
  kLeaf,
  kLeafItself,
  kAdd,
  kAddNew,
  kZero,
  kZeros,
  kScale,
  kScaleAll,
  kAddAll,
  kRoot
};

Role RoleOf(std::string_view name) {
  const std::string_view node = analyze::EngineNode(name);
  if (!node.empty()) return node == kLeaf ? Role::kLeaf : Role::kNode;
  if (name == kLeaf) return Role::kLeafItself;
  // Out of place where the backward pass itself can be differentiated, and to a sparse gradient.
  if (name == "aten::add") return Role::kAddNew;
  if (name == "aten::add_") return Role::kAdd;
  if (name == "aten::zero_" || name == "aten::fill_" || name == "aten::_foreach_zero_") {
    return Role::kZero;
  }
  if (name == "aten::zeros_like") return Role::kZeros;
  if (name == "aten::mul_") return Role::kScale;
  if (name == "aten::_foreach_mul_") return Role::kScaleAll;
  if (name == "aten::_foreach_add_") return Role::kAddAll;
  // The gradient of a loss with respect to itself: backward() begins.
  if (name == "aten::ones_like") return Role::kRoot;
  return Role::kOther;
}

// What passes are told apart by, in time order.
struct Event {
  enum Kind : std::uint8_t { kStepped, kForward, kBegins, kOperator, kNode, kLeaf };
  Nanos time = 0;
  Kind kind = kNode;
  RowId row = kNoRow;
  Role role = Role::kOther;
  bool adds = false, begun = false;
};

// What between a step and the pass behind it may have set gradients to zero in place, or made new
// ones that are zero. A product with zero does; a mean that runs along with the parameters is
// multiplied as well, and then added to.
struct Zeroing {
  std::size_t in_place = 0, anew = 0, scaled = 0, scaled_all = 0;

  void Count(Role role) {
    switch (role) {
      case Role::kZero: ++in_place; break;
      case Role::kZeros: ++anew; break;
      case Role::kScale: ++scaled; break;
      case Role::kScaleAll: ++scaled_all; break;
      case Role::kAdd: scaled -= scaled > 0 ? 1 : 0; break;
      case Role::kAddAll: scaled_all -= scaled_all > 0 ? 1 : 0; break;
      default: break;
    }
  }
  // One call in place may be for a buffer that holds all gradients.
  bool Of(std::size_t gradients) const {
    return in_place > 0 || scaled_all > 0 || 2 * anew >= gradients || 2 * scaled >= gradients;
  }
};

std::vector<Event> Collect(const Model& model) {
  const trace::Trace& trace = model.trace();
  const trace::HostSlices& host = trace.host;
  std::vector<Role> roles(trace.strings.size(), Role::kUnseen);
  std::vector<Event> events;
  std::vector<std::size_t> open(model.graph().lanes.size(), SIZE_MAX);  // by lane: the last node
  auto step = model.steady_optimizer_steps().begin();
  const auto steps_end = model.steady_optimizer_steps().end();
  for (RowId i = 0; i < host.size(); ++i) {
    if (host.kind[i] != SliceKind::kOp || !model.InSteadySteps(i)) continue;
    Role& role = roles[static_cast<std::uint32_t>(host.name[i])];
    if (role == Role::kUnseen) role = RoleOf(trace.HostName(i));
    std::size_t& last = open[model.LaneOf(i)];
    const bool inside = last != SIZE_MAX && host.start_ns[i] < host.end_ns(events[last].row);
    if (role == Role::kNode || role == Role::kLeaf) {
      // A node that runs others (a checkpointed block) is their frame.
      if (inside) events[last].row = kNoRow;
      last = events.size();
      events.push_back(
          {host.start_ns[i], role == Role::kLeaf ? Event::kLeaf : Event::kNode, i, role});
      continue;
    }
    if (inside) {
      // What else runs in there is of hooks, and may be a whole optimizer.
      Event& node = events[last];
      if (!node.begun || role == Role::kLeafItself)
        node.adds = role == Role::kAdd || role == Role::kAddNew;
      node.begun = role != Role::kLeafItself;
      continue;
    }
    const RowId top = model.lineage().top_op[i];
    if (top != i) continue;
    // An optimizer's own means, which it makes in its first step, are no gradients. Some set
    // gradients to zero themselves.
    while (step != steps_end && host.thread[step->row] == host.thread[i] &&
           host.end_ns(step->row) <= host.start_ns[i]) {
      ++step;
    }
    const bool its_own = step != steps_end && host.thread[step->row] == host.thread[i] &&
                         host.start_ns[i] >= step->begin_ns &&
                         host.start_ns[i] < host.end_ns(step->row);
    if (its_own && role != Role::kZero) continue;
    const bool plain = role == Role::kOther || role == Role::kAddNew;
    const Event::Kind kind = role == Role::kRoot ? Event::kBegins
                             : plain             ? Event::kForward
                                                 : Event::kOperator;
    if (kind == Event::kForward && host.link[i] < 0) continue;
    events.push_back({host.start_ns[i], kind, i, role});
  }
  std::erase_if(events, [](const Event& event) { return event.row == kNoRow; });
  for (const OptimizerStep& step : model.steady_optimizer_steps()) {
    events.push_back({step.begin_ns, Event::kStepped, step.row});
  }
  std::stable_sort(events.begin(), events.end(),
                   [](const Event& a, const Event& b) { return a.time < b.time; });
  return events;
}

// A pass ends where the next one begins, where a forward operator makes a node, or where an
// optimizer steps.
void CutPasses(const std::vector<Event>& events, StaleGradients& found) {
  bool stepped = false, ever_stepped = false, open = false;
  Zeroing since_step, before_pass;
  const auto close = [&] {
    if (!open) return;
    open = false;
    const BackwardPass& pass = found.passes.back();
    const auto adds = static_cast<std::size_t>(std::count_if(pass.leaves.begin(), pass.leaves.end(),
                                                             [](const auto& l) { return l.adds; }));
    // A program's first pass sets its gradients whether or not anything resets them.
    found.set_anywhere = found.set_anywhere || (ever_stepped && adds < pass.leaves.size());
    found.zeroed = found.zeroed || (adds > 0 && pass.behind_step && before_pass.Of(adds));
  };
  for (const Event& event : events) {
    switch (event.kind) {
      case Event::kStepped:
        close();
        stepped = ever_stepped = true;
        since_step = {};
        break;
      case Event::kForward:
      case Event::kBegins: close(); break;
      case Event::kOperator: since_step.Count(event.role); break;
      case Event::kNode:
      case Event::kLeaf:
        if (!open) {
          found.passes.emplace_back();
          found.passes.back().behind_step = stepped;
          before_pass = since_step;
          stepped = false;
          open = true;
        }
        BackwardPass& pass = found.passes.back();
        if (event.kind == Event::kLeaf)
          pass.leaves.push_back({pass.nodes.size(), event.adds, false});
        pass.nodes.push_back(event.row);
        break;
    }
  }
  close();
}

// Passes of as many leaves fill them in the same order.
void Judge(StaleGradients& found) {
  std::map<std::size_t, std::vector<BackwardPass*>> by_leaves;
  for (BackwardPass& pass : found.passes) by_leaves[pass.leaves.size()].push_back(&pass);
  for (const auto& [leaves, passes] : by_leaves) {
    std::vector<std::uint8_t> stale(leaves, 1);
    std::uint64_t judged = 0;
    for (const BackwardPass* pass : passes) {
      if (!pass->behind_step) continue;
      ++judged;
      for (std::size_t i = 0; i < leaves; ++i) stale[i] &= pass->leaves[i].adds ? 1 : 0;
    }
    if (judged < kLeastJudged) continue;
    const auto count = static_cast<std::uint64_t>(std::count(stale.begin(), stale.end(), 1));
    for (BackwardPass* pass : passes) {
      for (std::size_t i = 0; i < leaves; ++i) pass->leaves[i].stale = stale[i] != 0;
    }
    if (count <= found.stale) continue;
    found.judged = judged;
    found.leaves = leaves;
    found.stale = count;
  }
}

// Who resets all gradients by the model's zero_grad() resets those too that no optimizer reads.
// Passes of as many leaves fill them in the same order; sizes are recorded in some steps only.
void JudgeBySizes(const Model& model, StaleGradients& found) {
  if (model.steady_optimizer_steps().empty() || !model.facts().trust.present.shapes) return;
  const OptimizerShapes shapes(model);
  std::map<std::size_t, std::pair<std::uint64_t, std::vector<std::uint8_t>>> by_leaves;
  for (const BackwardPass& pass : found.passes) {
    std::vector<std::uint8_t> untouched = shapes.Untouched(pass);
    if (untouched.empty()) continue;
    auto& [judged, all] = by_leaves[pass.leaves.size()];
    if (judged++ > 0) {
      for (std::size_t i = 0; i < all.size(); ++i) untouched[i] &= all[i];
    }
    all = std::move(untouched);
  }
  for (const auto& [leaves, told] : by_leaves) {
    const auto count =
        static_cast<std::uint64_t>(std::count(told.second.begin(), told.second.end(), 1));
    // Another optimizer's turn is a pass of its own: of these some must be used.
    if (count <= found.stale || count == leaves) continue;
    found.by_sizes = true;
    found.judged = told.first;
    found.leaves = leaves;
    found.stale = count;
  }
  if (!found.by_sizes) return;
  const std::vector<std::uint8_t>& stale = by_leaves[found.leaves].second;
  for (BackwardPass& pass : found.passes) {
    if (pass.leaves.size() != found.leaves) continue;
    for (std::size_t i = 0; i < stale.size(); ++i) pass.leaves[i].stale = stale[i] != 0;
  }
}

// Of the node before its first stale leaf; the leaf itself belongs to no operator.
RowId Example(const Model& model, const StaleGradients& found) {
  const analyze::ForwardIndex forward(model.trace());
  for (const BackwardPass& pass : found.passes) {
    const auto leaf = std::find_if(pass.leaves.begin(), pass.leaves.end(),
                                   [](const BackwardPass::Leaf& l) { return l.stale; });
    if (leaf == pass.leaves.end()) continue;
    for (std::size_t n = leaf->node; n-- > 0;) {
      // The engine's slice, or the node's own inside it.
      for (RowId i = pass.nodes[n]; i <= pass.nodes[n] + 1 && i < model.trace().host.size(); ++i) {
        if (!analyze::IsBackward(model.trace(), i)) continue;
        const RowId row = forward.Find(model.trace(), i);
        if (row != kNoRow) return row;
      }
    }
  }
  return kNoRow;
}

// Whether passes of other parameters set as many as are stale here: those of a critic, in its own
// turn.
bool SetElsewhere(const StaleGradients& found) {
  return std::any_of(found.passes.begin(), found.passes.end(), [&](const BackwardPass& pass) {
    if (pass.leaves.size() == found.leaves) return false;
    const auto sets = std::count_if(pass.leaves.begin(), pass.leaves.end(),
                                    [](const BackwardPass::Leaf& leaf) { return !leaf.adds; });
    return static_cast<std::uint64_t>(sets) >= found.stale;
  });
}

std::uint64_t CountResets(const Model& model) {
  const trace::HostSlices& host = model.trace().host;
  std::uint64_t resets = 0;
  for (RowId i = 0; i < host.size(); ++i) {
    if (host.kind[i] != SliceKind::kAnnotation || !model.InSteadySteps(i)) continue;
    resets += model.trace().HostName(i).starts_with(kOptimizerZeroGrad) ? 1 : 0;
  }
  return resets;
}

}  // namespace

bool BackwardPass::all_stale() const {
  return std::all_of(leaves.begin(), leaves.end(), [](const Leaf& leaf) { return leaf.stale; });
}

StaleGradients LookAtStaleGradients(const Model& model) {
  StaleGradients found;
  CutPasses(Collect(model), found);
  for (BackwardPass& pass : found.passes) {
    pass.replayed = model.InWindow(pass.nodes.front()) && model.InWindow(pass.nodes.back());
  }
  if (!found.zeroed) Judge(found);
  if (found.stale == 0) JudgeBySizes(model, found);
  if (found.stale == 0) return found;
  found.example = Example(model, found);
  found.set_elsewhere = SetElsewhere(found);
  found.steps = model.steady_optimizer_steps().size();
  found.resets = CountResets(model);
  return found;
}

}  // namespace hone::replay
