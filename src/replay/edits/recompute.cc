// SPDX-License-Identifier: Apache-2.0
#include "replay/edits/recompute.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_map>

#include "analyze/autograd_engine.h"

namespace hone::replay {
namespace {

using trace::kNoRow;
using trace::RowId;
using trace::SliceKind;
using Region = Recompute::Region;

// Of the neighbours in a stretch, those that are neighbours in the forward pass too. What saves and
// restores the generators' states stands between some of them.
constexpr double kLeastKnown = 0.8;
// Fewer operators than these show by a layer's that they are of a forward pass: a gradient's own
// are up to six in the formulas of PyTorch that also occur in models.
constexpr std::uint32_t kManyOperators = 8, kFewestOperators = 2;
// Operators in a row by which a place in the forward pass is found again.
constexpr std::size_t kToTellApart = 4;
// What models call and no formula of a gradient does.
constexpr std::array<std::string_view, 27> kLayers = {"aten::linear",
                                                      "aten::bilinear",
                                                      "aten::layer_norm",
                                                      "aten::rms_norm",
                                                      "aten::group_norm",
                                                      "aten::batch_norm",
                                                      "aten::instance_norm",
                                                      "aten::conv1d",
                                                      "aten::conv2d",
                                                      "aten::conv3d",
                                                      "aten::conv_transpose1d",
                                                      "aten::conv_transpose2d",
                                                      "aten::conv_transpose3d",
                                                      "aten::scaled_dot_product_attention",
                                                      "aten::softmax",
                                                      "aten::embedding",
                                                      "aten::dropout",
                                                      "aten::gelu",
                                                      "aten::silu",
                                                      "aten::relu",
                                                      "aten::relu_",
                                                      "aten::leaky_relu",
                                                      "aten::elu",
                                                      "aten::max_pool2d",
                                                      "aten::avg_pool2d",
                                                      "aten::lstm",
                                                      "aten::gru"};

// Operators one behind the other, by name.
std::uint64_t Pair(const trace::HostSlices& host, RowId before, RowId after) {
  return std::uint64_t{static_cast<std::uint32_t>(host.name[before])} << 32U |
         static_cast<std::uint32_t>(host.name[after]);
}

// Names in a row, as a number.
std::uint64_t Mix(std::uint64_t key, StringId name) {
  constexpr std::uint64_t kPrime = 0x9e3779b97f4a7c15;
  return (key ^ static_cast<std::uint32_t>(name)) * kPrime;
}

// What stands directly in a node: an operator, or a node of a nested backward pass.
struct Member {
  RowId node = kNoRow, row = kNoRow;
  RowId around = kNoRow;  // the node's slice, or its function's in that
  bool is_node = false;
  bool numbered = false;  // ran in grad mode
};

}  // namespace

class Recompute::Search {
 public:
  Search(const Model& model, const std::vector<RowId>& node, const Around& around)
      : model_(model), trace_(model.trace()), host_(trace_.host), node_(node), around_(around) {
    TakeForward();
    TakeBeginnings();
    TakeMembers();
  }

  // Calls `found` with each region, but for its end.
  template <typename Found>
  void Run(Found&& found) {
    for (std::size_t i = 0; i < members_.size();) {
      const std::size_t begin = i;
      std::size_t last = SIZE_MAX;
      for (; i < members_.size() && members_[i].node == members_[begin].node; ++i) {
        if (members_[i].is_node && last != SIZE_MAX) break;
        if (members_[i].is_node || !members_[i].numbered) continue;
        if (last == SIZE_MAX) first_ = i;
        last = i;
      }
      if (last == SIZE_MAX || !IsForward(first_, last)) continue;
      found(RegionOf(first_, last));
    }
  }

 private:
  void TakeForward() {
    std::vector<RowId> last_in(host_.size(), kNoRow), last_of(trace_.threads.size(), kNoRow);
    next_.assign(host_.size(), kNoRow);
    for (RowId i = 0; i < host_.size(); ++i) {
      if (host_.kind[i] != SliceKind::kOp || node_[i] != kNoRow) continue;
      const RowId around = around_.op[i];
      RowId& before = around == kNoRow ? last_of[host_.thread[i]] : last_in[around];
      if (before != kNoRow) {
        forward_.try_emplace(Pair(host_, before, i), before);
        next_[before] = i;
      }
      before = i;
    }
  }

  // The first operators of blocks are alike often, four of them seldom.
  void TakeBeginnings() {
    for (RowId i = 0; i < host_.size(); ++i) {
      if (next_[i] == kNoRow || !model_.InWindow(i)) continue;
      std::uint64_t key = 0;
      std::size_t count = 0;
      for (RowId at = i; count < kToTellApart && at != kNoRow; at = next_[at], ++count) {
        key = Mix(key, host_.name[at]);
      }
      if (count == kToTellApart) begins_.try_emplace(key, i);
    }
  }

  // Where the forward pass first ran what the region begins with.
  RowId ForwardOf(std::size_t first, std::size_t last) const {
    std::uint64_t key = 0;
    for (std::size_t i = first; i <= last && i < first + kToTellApart; ++i) {
      key = Mix(key, host_.name[members_[i].row]);
    }
    if (const auto at = begins_.find(key); at != begins_.end()) return at->second;
    const auto pair = forward_.find(Pair(host_, members_[first].row, members_[first + 1].row));
    return pair == forward_.end() ? kNoRow : pair->second;
  }

  void TakeMembers() {
    for (RowId i = 0; i < host_.size(); ++i) {
      const RowId around = around_.op[i];
      if (host_.kind[i] != SliceKind::kOp || around == kNoRow || node_[around] == kNoRow) continue;
      const RowId node = node_[around];
      if (around_.part[i] == Part::kSlice) {
        members_.push_back({node, i, around, true, false});
        continue;
      }
      if (around_.part[around] == Part::kNone || around_.part[i] == Part::kFunction) continue;
      const bool backward = trace_.op_details[host_.detail[i]].fwd_thread > 0;
      members_.push_back({node, i, around, false, host_.link[i] >= 0 && !backward});
    }
    std::stable_sort(members_.begin(), members_.end(),
                     [](const Member& a, const Member& b) { return a.node < b.node; });
  }

  bool IsForward(std::size_t first, std::size_t last) const {
    const std::size_t operators = last - first + 1;
    if (operators < kFewestOperators) return false;
    std::size_t known = 0;
    bool layer = false;
    for (std::size_t i = first; i <= last; ++i) {
      const std::string_view name = trace_.HostName(members_[i].row);
      layer = layer || std::find(kLayers.begin(), kLayers.end(), name) != kLayers.end();
      if (i > first) known += forward_.count(Pair(host_, members_[i - 1].row, members_[i].row));
    }
    return (layer || operators >= kManyOperators) &&
           static_cast<double>(known) >= kLeastKnown * static_cast<double>(operators - 1);
  }

  Region RegionOf(std::size_t first, std::size_t last) const {
    Region region;
    region.node = members_[first].node;
    region.first = members_[first].row;
    region.last = members_[last].row;
    region.forward = ForwardOf(first, last);
    region.operators = static_cast<std::uint32_t>(last - first + 1);
    const bool follows = first > 0 && members_[first - 1].node == region.node;
    const bool leads = last + 1 < members_.size() && members_[last + 1].node == region.node;
    region.span.begin_ns =
        follows ? host_.end_ns(members_[first - 1].row) : host_.start_ns[members_[first].around];
    region.span.end_ns =
        leads ? host_.start_ns[members_[last + 1].row] : host_.end_ns(members_[last].around);
    return region;
  }

  const Model& model_;
  const trace::Trace& trace_;
  const trace::HostSlices& host_;
  const std::vector<RowId>& node_;
  const Around& around_;
  // Neighbours in the forward pass, with the first of the first ones; and by row who follows.
  std::unordered_map<std::uint64_t, RowId> forward_;
  std::vector<RowId> next_;
  std::unordered_map<std::uint64_t, RowId> begins_;
  std::vector<Member> members_;  // by node, then time
  std::size_t first_ = 0;
};

Recompute::Recompute(const Model& model)
    : node_(model.trace().host.size(), kNoRow),
      outermost_(model.trace().host.size(), kNoRow),
      region_of_(model.trace().host.size(), kNone) {
  const trace::Trace& trace = model.trace();
  const Around around = FindNodes(trace);
  Search(model, node_, around).Run([&](const Region& region) { Keep(trace, region); });
}

Recompute::Around Recompute::FindNodes(const trace::Trace& trace) {
  const trace::HostSlices& host = trace.host;
  Around around{std::vector<RowId>(host.size(), kNoRow), std::vector<Part>(host.size())};
  std::vector<std::uint8_t> judged(trace.strings.size(), 0);
  for (RowId i = 0; i < host.size(); ++i) {
    const RowId parent = host.parent[i];
    if (parent != kNoRow) {
      around.op[i] = host.kind[parent] == SliceKind::kOp ? parent : around.op[parent];
      node_[i] = node_[parent];
    }
    const RowId outer = around.op[i];
    if (outer != kNoRow) outermost_[i] = outermost_[outer];
    if (host.kind[i] != SliceKind::kOp) continue;
    std::uint8_t& name = judged[static_cast<std::uint32_t>(host.name[i])];
    if (name == 0) name = analyze::IsEngineSlice(trace.HostName(i)) ? 2 : 1;
    const Part outside = outer == kNoRow ? Part::kSlice : around.part[outer];
    if (name == 2) {
      node_[i] = i;
      around.part[i] = Part::kSlice;
    } else if (outer != kNoRow && outside == Part::kSlice &&
               trace.HostName(i) == analyze::EngineNode(trace.HostName(outer))) {
      around.part[i] = Part::kFunction;
    }
    if (outside != Part::kNone || around.part[i] == Part::kSlice) outermost_[i] = i;
  }
  return around;
}

void Recompute::Keep(const trace::Trace& trace, Region region) {
  const trace::HostSlices& host = trace.host;
  const RowId last = region.last;
  region.end = last + 1;
  while (region.end < host.size() && host.thread[region.end] == host.thread[last] &&
         host.start_ns[region.end] < host.end_ns(last)) {
    ++region.end;
  }
  const auto index = static_cast<std::uint32_t>(regions_.size());
  std::fill(region_of_.begin() + region.first, region_of_.begin() + region.end, index);
  regions_.push_back(region);
}

std::span<const Region> Recompute::RegionsIn(RowId node) const {
  const auto first = std::partition_point(regions_.begin(), regions_.end(),
                                          [&](const Region& region) { return region.node < node; });
  const auto last = std::partition_point(first, regions_.end(),
                                         [&](const Region& region) { return region.node == node; });
  return {first, last};
}

}  // namespace hone::replay
