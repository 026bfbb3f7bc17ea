// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/forward_index.h"
#include "analyze/lineage.h"
#include "report/html/flame.h"
#include "trace/record_again.h"
#include "trace/running.h"

namespace hone::report {
namespace {

using trace::kNoRow;
using trace::RowId;
using trace::SliceKind;

constexpr std::uint32_t kNoNode = CallTree::kRoot;

// Recordings of hone: "Net (train.py:12) > Block (net.py:14)". PyTorch:
// "TOP(Net).layer1(Sequential).0(Linear)", dots inside parentheses left alone.
std::vector<std::string> PathParts(std::string_view path, bool by_dots) {
  constexpr std::string_view kArrow = " > ";
  std::vector<std::string> parts(1);
  int depth = 0;
  for (std::size_t i = 0; i < path.size(); ++i) {
    depth += path[i] == '(' ? 1 : path[i] == ')' ? -1 : 0;
    if (!by_dots && path.substr(i).starts_with(kArrow)) {
      parts.emplace_back();
      i += kArrow.size() - 1;
    } else if (path[i] == '.' && depth <= 0 && by_dots) {
      parts.emplace_back();
    } else {
      parts.back() += path[i];
    }
  }
  std::erase_if(parts, [](const std::string& part) { return part.empty(); });
  return parts;
}

class ModuleTree {
 public:
  ModuleTree(const trace::Trace& trace, PageStrings& strings)
      : trace_(trace),
        strings_(strings),
        lineage_(trace),
        module_(trace.host.size(), kNoNode),
        node_(trace.host.size(), kNoNode),
        path_node_(trace.strings.size(), kNoNode) {}

  Flame Run() {
    // Threads are not sorted by time: a forward operator may stand after its backward one.
    FindModules(nullptr);
    const analyze::ForwardIndex forward(trace_);
    const std::vector<std::uint32_t> first = module_;
    FindModules([&](RowId backward) {
      const RowId source = forward.Find(trace_, backward);
      return source == kNoRow ? kNoNode : first[source];
    });
    AddTimes();
    AddDeviceTime();
    flame_.device = trace_.device.size() > 0;
    return std::move(flame_);
  }

 private:
  using Linked = std::function<std::uint32_t(RowId)>;

  // The node of the module around each row: its own, else its forward operator's, else that around.
  void FindModules(const Linked& linked) {
    const trace::HostSlices& host = trace_.host;
    std::vector<RowId> giver(host.size(), kNoRow);
    for (RowId i = 0; i < host.size(); ++i) {
      if (host.parent[i] != kNoRow) giver[i] = giver[host.parent[i]];
      const std::uint32_t above = giver[i] == kNoRow ? kNoNode : module_[giver[i]];
      const std::uint32_t own = OwnModule(i, above, linked);
      module_[i] = own == kNoNode ? above : own;
      if (own != kNoNode) giver[i] = i;
    }
  }

  std::uint32_t OwnModule(RowId row, std::uint32_t above, const Linked& linked) {
    const StringId path = trace_.op_details[trace_.host.detail[row]].module;
    if (path != StringId::kEmpty) return NodeOfPath(path);
    if (lineage_.module[row] == row) {
      return flame_.tree.Child(above, strings_.Of(ModuleName(trace_.host.name[row])));
    }
    return linked && analyze::IsBackward(trace_, row) ? linked(row) : kNoNode;
  }

  // "nn.Module: Linear_0" without what all of them begin with.
  std::string ModuleName(StringId name) const {
    constexpr std::string_view kPrefix = "nn.Module: ";
    std::string_view text = trace_.Name(name);
    if (text.starts_with(kPrefix)) text.remove_prefix(kPrefix.size());
    return std::string(text);
  }

  std::uint32_t NodeOfPath(StringId path) {
    std::uint32_t& node = path_node_[static_cast<std::uint32_t>(path)];
    if (node != kNoNode) return node;
    const bool by_dots = trace_.info.format != trace::Format::kHone;
    for (const std::string& part : PathParts(trace_.Name(path), by_dots)) {
      node = flame_.tree.Child(node, strings_.Of(part));
    }
    return node;
  }

  // Modules, and operators that are outermost in theirs, each without what counts by itself inside.
  void AddTimes() {
    const trace::HostSlices& host = trace_.host;
    std::vector<RowId> nearest(host.size(), kNoRow);  // that counts, around the row or itself
    trace::Running running(host);
    for (RowId i = 0; i < host.size(); ++i) {
      const RowId around = host.parent[i] == kNoRow ? kNoRow : nearest[host.parent[i]];
      nearest[i] = around;
      if (around != kNoRow) node_[i] = node_[around];
      const bool is_module = lineage_.module[i] == i;
      const bool is_op = host.kind[i] == SliceKind::kOp && module_[i] != kNoNode;
      if (!is_module && !is_op) continue;
      if (is_op && around != kNoRow && host.kind[around] == SliceKind::kOp &&
          module_[around] == module_[i]) {
        continue;
      }
      const RowId interrupted = running.Around(i);
      if (interrupted != kNoRow) {
        flame_.tree.AddSelf(node_[interrupted], -trace::TimeInside(host, i, interrupted));
      }
      running.Begin(i);
      node_[i] = is_module ? module_[i] : flame_.tree.Child(module_[i], strings_.Of(host.name[i]));
      flame_.tree.AddSelf(node_[i], host.duration_ns[i]);
      flame_.tree.AddCalls(node_[i], 1);
      nearest[i] = i;
    }
  }

  void AddDeviceTime() {
    for (RowId w = 0; w < trace_.device.size(); ++w) {
      const RowId api = trace_.device.api[w];
      const RowId from = api != kNoRow ? api : trace_.device.op[w];
      if (from == kNoRow || node_[from] == kNoNode) continue;
      flame_.tree.AddDevice(node_[from], trace_.device.duration_ns[w]);
    }
  }

  const trace::Trace& trace_;
  PageStrings& strings_;
  const analyze::Lineage lineage_;
  Flame flame_;
  std::vector<std::uint32_t> module_;     // by host row: node of the module around it
  std::vector<std::uint32_t> node_;       // by host row: node that its time counts for
  std::vector<std::uint32_t> path_node_;  // by StringId of a recorded path
};

}  // namespace

Known<Flame> FlameByModule(const Input& input, PageStrings& strings) {
  Flame flame = ModuleTree(input.trace, strings).Run();
  if (flame.tree.size() > 0) return flame;
  return Known<Flame>::Absent(std::string("the trace names no modules; ") +
                              trace::RecordAgain(input.trace.info, trace::Lacking::kStacks));
}

}  // namespace hone::report
