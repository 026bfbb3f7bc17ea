// SPDX-License-Identifier: Apache-2.0
// unused-gradients: what no optimizer resets gets no gradient.
#include "replay/edits/unused_gradients.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyze/autograd_engine.h"
#include "base/text.h"
#include "replay/edits/edits.h"
#include "replay/edits/host_cut.h"

namespace hone::replay {
namespace {

using trace::kNoRow;
using trace::RowId;
using trace::SliceKind;
using Leaf = BackwardPass::Leaf;
using Gone = UnusedGradients::Gone;

// Of a node that gives a gradient to a parameter and to what came before it: the parameter's part.
// Of a convolution both are as much work, of a norm the parameter's is less.
constexpr Range3 kOwnPart = {0.35, 0.5, 0.6};
// A product's node computes both in products of their own, the second factor's last: the weight's.
constexpr Range3 kOwnProduct = {0.9, 1, 1};
// Between a product and the parameter: its transpose, its cast under autocast.
constexpr std::array<std::string_view, 9> kPassing = {
    "TBackward",      "TransposeBackward", "PermuteBackward",   "ViewBackward",   "ReshapeBackward",
    "ExpandBackward", "ToCopyBackward",    "UnsqueezeBackward", "SqueezeBackward"};
constexpr std::array<std::string_view, 10> kProducts = {"aten::mm",
                                                        "aten::addmm",
                                                        "aten::bmm",
                                                        "aten::baddbmm",
                                                        "aten::linear_backward",
                                                        "aten::mkldnn_linear_backward_input",
                                                        "aten::mkldnn_linear_backward_weights",
                                                        "aten::_scaled_mm",
                                                        "aten::_grouped_mm",
                                                        "aten::dot"};

template <std::size_t N>
bool StartsWithAny(std::string_view name, const std::array<std::string_view, N>& words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return name.starts_with(word); });
}

// Decides pass by pass; some of a pass's leaves are not stale.
class Pruner {
 public:
  explicit Pruner(const Model& model) : model_(model) {}

  void Prune(const BackwardPass& pass, UnusedGradients& found) {
    pass_ = &pass;
    share_.assign(pass.nodes.size(), Range3{});
    products_.clear();
    is_leaf_.assign(pass.nodes.size(), 0);
    for (const Leaf& leaf : pass.leaves) is_leaf_[leaf.node] = 1;
    CountWork();
    FindMakers();
    for (std::size_t i = 0; i < pass.leaves.size(); ++i) {
      if (!pass.leaves[i].stale) continue;
      std::size_t last = i;
      while (last + 1 < pass.leaves.size() && pass.leaves[last + 1].stale) ++last;
      PruneStretch(i, last);
      i = last;
    }
    for (std::size_t n = 0; n < share_.size(); ++n) {
      if (share_[n].most <= 0) continue;
      const RowId next = n + 1 < share_.size() ? pass.nodes[n + 1] : kNoRow;
      found.gone.push_back({pass.nodes[n], next, share_[n]});
      // A leaf goes as a whole wherever it is.
      if (is_leaf_[n] != 0) continue;
      const double time = share_[n].likely * Length(pass.nodes[n]);
      (share_[n].likely >= 1 ? found.whole_ns : found.part_ns) += time;
    }
    for (const RowId row : products_) {
      found.gone.push_back({row, kNoRow, kOwnProduct});
      found.part_ns += Length(row);
    }
  }

 private:
  double Length(RowId row) const {
    return static_cast<double>(model_.trace().host.duration_ns[row]);
  }
  std::string_view Name(std::size_t node) const {
    return analyze::EngineNode(model_.trace().HostName(pass_->nodes[node]));
  }

  struct Work {
    std::uint32_t products = 0, calls = 0, results = 0;
    bool says_no_input = false;  // a convolution says which gradients it is asked for
    RowId last = kNoRow;         // the last product
    // What a node does that gives two gradients is more than what one does whose input needs none.
    std::uint32_t amount() const { return products > 0 ? products : calls > 0 ? calls : results; }
  };

  Work WorkIn(RowId node) const {
    const trace::HostSlices& host = model_.trace().host;
    Work work;
    for (RowId i = node + 1; i < host.size() && host.thread[i] == host.thread[node] &&
                             host.start_ns[i] < host.end_ns(node);
         ++i) {
      if (host.kind[i] == SliceKind::kApi) work.calls += model_.WorkOf(i) != kNoRow ? 1 : 0;
      if (host.kind[i] != SliceKind::kOp) continue;
      const std::string_view name = model_.trace().HostName(i);
      // On a CPU a convolution makes its results by that, one for each gradient.
      work.results += name == "aten::resize_" ? 1 : 0;
      if (name == "aten::convolution_backward") {
        const trace::OpDetail& detail = model_.trace().op_details[host.detail[i]];
        const std::string_view asked = model_.trace().Name(detail.concrete);
        work.says_no_input = asked.find("[False, ") != std::string_view::npos;
      }
      if (std::find(kProducts.begin(), kProducts.end(), name) == kProducts.end()) continue;
      ++work.products;
      work.last = i;
    }
    return work;
  }

  void CountWork() {
    work_.assign(pass_->nodes.size(), {});
    usual_.clear();
    std::unordered_map<std::string_view, std::vector<std::uint32_t>> of_name;
    for (std::size_t n = 0; n < pass_->nodes.size(); ++n) {
      work_[n] = WorkIn(pass_->nodes[n]);
      of_name[Name(n)].push_back(work_[n].amount());
    }
    for (auto& [name, counts] : of_name) {
      const auto middle = counts.begin() + static_cast<std::ptrdiff_t>(counts.size() / 2);
      std::nth_element(counts.begin(), middle, counts.end());
      usual_[name] = *middle;
    }
  }

  // Of each leaf: the node that made its gradient, behind what only passes it on, and which of its
  // leaves come first and last. Where nothing made one since the leaf before, both have the same.
  struct Made {
    std::size_t by = SIZE_MAX;
    std::size_t first = 0, last = 0;
  };

  void FindMakers() {
    made_.assign(pass_->leaves.size(), {});
    for (std::size_t leaf = 0; leaf < made_.size(); ++leaf) {
      const std::size_t from = leaf == 0 ? 0 : pass_->leaves[leaf - 1].node + 1;
      std::size_t n = pass_->leaves[leaf].node;
      while (n > from && StartsWithAny(Name(n - 1), kPassing)) --n;
      if (n > from) {
        made_[leaf] = {n - 1, leaf, leaf};
      } else {
        made_[leaf] = leaf == 0 ? Made{} : made_[leaf - 1];
      }
    }
    for (std::size_t leaf = made_.size(); leaf-- > 0;) {
      const bool shared = leaf + 1 < made_.size() && made_[leaf + 1].first == made_[leaf].first;
      made_[leaf].last = shared ? made_[leaf + 1].last : leaf;
    }
  }

  // Whether the graph ends there: the node gives no gradient to what came before it.
  bool Ends(std::size_t leaf) const {
    const std::size_t node = made_[leaf].by;
    if (node == SIZE_MAX) return false;
    if (Name(node).starts_with("Embedding") || work_[node].says_no_input) return true;
    return work_[node].amount() > 0 && work_[node].amount() < usual_.at(Name(node));
  }

  void Take(std::size_t first, std::size_t end, const Range3& share) {
    for (std::size_t n = first; n < end; ++n) {
      share_[n] = {std::max(share_[n].least, share.least), std::max(share_[n].likely, share.likely),
                   std::max(share_[n].most, share.most)};
    }
  }

  // Leaves first … last are stale, and those around them are not. Behind the last leaf of all
  // nothing is needed; and nothing of a part whose graph ends before the next leaf that is. Of the
  // rest goes what makes the parameter's gradient.
  void PruneStretch(std::size_t first, std::size_t last) {
    const std::vector<Leaf>& leaves = pass_->leaves;
    if (last + 1 == leaves.size()) {
      // What made the first may lie before another one that it made.
      if (made_[first].by != SIZE_MAX && made_[first].by < leaves[first - 1].node) PruneLeaf(first);
      Take(leaves[first - 1].node + 1, pass_->nodes.size(), {1, 1, 1});
      return;
    }
    for (std::size_t leaf = first; leaf <= last; ++leaf) PruneLeaf(leaf);
    std::size_t end = last + 1;
    while (end > first && !Ends(end - 1)) --end;
    if (end > first) Take(StartOf(first), leaves[end - 1].node + 1, {0, 1, 1});
  }

  std::size_t StartOf(std::size_t leaf) const {
    return made_[leaf].by == SIZE_MAX ? pass_->leaves[leaf].node : made_[leaf].by;
  }

  void PruneLeaf(std::size_t leaf) {
    const std::vector<Leaf>& leaves = pass_->leaves;
    const Made& made = made_[leaf];
    const std::size_t behind = leaf == made.first ? made.by : leaves[leaf - 1].node;
    Take(behind == SIZE_MAX ? 0 : behind + 1, leaves[leaf].node + 1, {1, 1, 1});
    if (made.by == SIZE_MAX) return;
    if (work_[made.by].products > 1) {
      // A bias, which comes first, is a sum beside it.
      if (leaf == made.last) products_.push_back(work_[made.by].last);
      return;
    }
    const double part = 1.0 / static_cast<double>(made.last - made.first + 1);
    share_[made.by].least += part * kOwnPart.least;
    share_[made.by].likely += part * kOwnPart.likely;
    share_[made.by].most += part * kOwnPart.most;
  }

  const Model& model_;
  const BackwardPass* pass_ = nullptr;
  std::vector<Range3> share_;          // by node
  std::vector<std::uint8_t> is_leaf_;  // by node
  std::vector<Work> work_;             // by node
  std::vector<Made> made_;             // by leaf
  std::vector<RowId> products_;        // that go, of nodes that stay
  std::unordered_map<std::string_view, std::uint32_t> usual_;
};

class NoUnusedGradients : public Edit {
 public:
  NoUnusedGradients(const Model& model, UnusedGradients found)
      : gone_(std::move(found.gone)), stale_(found.stale.stale), leaves_(found.stale.leaves) {
    for (const Guess guess : {Guess::kLeast, Guess::kLikely, Guess::kMost}) {
      host_[static_cast<std::size_t>(guess)] = HostCut(model.graph(), SpansAt(model, guess));
    }
    FindWork(model);
  }

  void Apply(const Model& model, Guess guess, Plan& plan) const override {
    host_[static_cast<std::size_t>(guess)].Apply(model.graph(), 1.0, plan);
    for (const auto& [task, share] : work_) {
      const double gone = share.At(guess);
      if (gone >= 1) {
        plan.RemoveWork(task);
        continue;
      }
      plan.duration_ns[task] =
          static_cast<Nanos>(static_cast<double>(plan.duration_ns[task]) * (1 - gone));
    }
  }

  std::string Scope(const Model& model) const override {
    const double gone =
        static_cast<double>(host_[1].gone_ns()) / 1e6 / static_cast<double>(model.graph().steps);
    return fmt::format("{} of {} gradients of a backward pass, {} ms a step on the host",
                       WithThousands(stale_), WithThousands(leaves_), ThreeDigits(gone));
  }

 private:
  // Neighbours that vanish take what lies between them along.
  std::vector<HostSpan> SpansAt(const Model& model, Guess guess) const {
    const trace::HostSlices& host = model.trace().host;
    std::vector<HostSpan> spans;
    for (std::size_t i = 0; i < gone_.size(); ++i) {
      const Gone& gone = gone_[i];
      const double share = gone.share.At(guess);
      if (share <= 0) continue;
      const bool both = share >= 1 && i + 1 < gone_.size() && gone_[i + 1].node == gone.next &&
                        gone_[i + 1].share.At(guess) >= 1 &&
                        model.LaneOf(gone.next) == model.LaneOf(gone.node);
      const Nanos end = both ? host.start_ns[gone.next] : host.end_ns(gone.node);
      spans.push_back({model.LaneOf(gone.node), {host.start_ns[gone.node], end}, 0, 1 - share});
    }
    return spans;
  }

  void FindWork(const Model& model) {
    const trace::Trace& trace = model.trace();
    for (const Gone& gone : gone_) {
      for (RowId i = gone.node + 1;
           i < trace.host.size() && trace.host.thread[i] == trace.host.thread[gone.node] &&
           trace.host.start_ns[i] < trace.host.end_ns(gone.node);
           ++i) {
        const RowId work = model.WorkOf(i);
        if (work == kNoRow) continue;
        const TaskId task = model.graph().of_device[work];
        if (task != kNoTask) work_.emplace_back(task, gone.share);
      }
    }
  }

  const std::vector<Gone> gone_;
  const std::uint64_t stale_, leaves_;
  std::array<HostCut, 3> host_;  // by Guess
  std::vector<std::pair<TaskId, Range3>> work_;
};

}  // namespace

UnusedGradients LookAtUnusedGradients(const Model& model) {
  UnusedGradients found;
  found.stale = LookAtStaleGradients(model);
  if (!found.stale.some_stale()) return found;
  Pruner pruner(model);
  for (const BackwardPass& pass : found.stale.passes) {
    if (pass.replayed && !pass.all_stale()) pruner.Prune(pass, found);
  }
  return found;
}

FoundEdit FindUnusedGradients(const Model& model) {
  UnusedGradients found = LookAtUnusedGradients(model);
  const StaleGradients& stale = found.stale;
  if (stale.passes.empty()) return FoundEdit::Absent("no backward pass in the steps");
  if (stale.zeroed && !stale.by_sizes) {
    return FoundEdit::Absent("gradients are set to zero, which does not show who uses them");
  }
  if (stale.none_reset()) return FoundEdit::Absent("nothing resets any gradient");
  if (found.gone.empty()) {
    return FoundEdit::Absent("gradients are reset before the pass that adds to them");
  }
  return FoundEdit(std::make_unique<NoUnusedGradients>(model, std::move(found)));
}

}  // namespace hone::replay
