// SPDX-License-Identifier: Apache-2.0
#include "replay/edits/optimizer_shapes.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "analyze/flops.h"

namespace hone::replay {
namespace {

using analyze::ArgumentShape;
using trace::RowId;

std::vector<ArgumentShape> ArgumentsOf(const trace::Trace& trace, RowId row) {
  const trace::OpDetail& detail = trace.op_details[trace.host.detail[row]];
  if (detail.dims == StringId::kEmpty) return {};
  return analyze::ParseArguments(trace.Name(detail.dims), trace.Name(detail.types),
                                 trace.Name(detail.concrete));
}

}  // namespace

OptimizerShapes::OptimizerShapes(const Model& model) : model_(model) {
  const trace::HostSlices& host = model.trace().host;
  std::vector<std::uint8_t> seen(model.trace().op_details.size(), 0);  // parsing is what takes time
  for (const OptimizerStep& step : model.steady_optimizer_steps()) {
    for (RowId i = step.row; i < host.size() && host.thread[i] == host.thread[step.row]; ++i) {
      if (host.start_ns[i] >= host.end_ns(step.row)) break;
      if (host.kind[i] != trace::SliceKind::kOp || host.start_ns[i] < step.begin_ns) continue;
      if (std::exchange(seen[host.detail[i]], 1) != 0) continue;
      for (ArgumentShape& argument : ArgumentsOf(model.trace(), i)) {
        // Numbers, and counts of steps.
        if (!argument.dims.empty()) sizes_.insert(std::move(argument.dims));
        for (Dims& dims : argument.list) {
          if (!dims.empty()) sizes_.insert(std::move(dims));
        }
      }
    }
  }
}

// Of the first operator in the node that gets a tensor: the gradient, which is as large as its
// parameter.
OptimizerShapes::Dims OptimizerShapes::DimsOfLeaf(RowId node) const {
  const trace::HostSlices& host = model_.trace().host;
  for (RowId i = node + 1; i < host.size() && host.thread[i] == host.thread[node] &&
                           host.start_ns[i] < host.end_ns(node);
       ++i) {
    if (host.kind[i] != trace::SliceKind::kOp) continue;
    for (ArgumentShape& argument : ArgumentsOf(model_.trace(), i)) {
      if (!argument.dims.empty()) return std::move(argument.dims);
    }
  }
  return {};
}

std::vector<std::uint8_t> OptimizerShapes::Untouched(const BackwardPass& pass) const {
  if (sizes_.empty()) return {};
  std::vector<std::uint8_t> untouched;
  std::set<Dims> of_leaves;
  for (const BackwardPass::Leaf& leaf : pass.leaves) {
    Dims dims = DimsOfLeaf(pass.nodes[leaf.node]);
    if (dims.empty()) return {};
    untouched.push_back(sizes_.contains(dims) ? 0 : 1);
    of_leaves.insert(std::move(dims));
  }
  const bool own = std::any_of(sizes_.begin(), sizes_.end(),
                               [&](const Dims& dims) { return !of_leaves.contains(dims); });
  return own ? std::vector<std::uint8_t>() : untouched;
}

}  // namespace hone::replay
