// SPDX-License-Identifier: Apache-2.0
// AnomalyMode: what torch.autograd.set_detect_anomaly(True) does to the steps.
//
// The engine looks through every gradient that a node gives (engine.cpp, evaluate_function: isnan,
// any, item, right behind the node itself), and every node of the forward pass keeps the stack of
// the Python code that made it, as text (python_anomaly_mode.cpp, store_stack: format_stack()).
#pragma once

#include <cstdint>
#include <vector>

#include "replay/edits/host_cut.h"
#include "replay/model.h"

namespace hone::replay {

struct AnomalyMode {
  // Nodes of backward passes that give gradients, and those whose gradients are looked through.
  std::uint64_t nodes = 0, checked = 0;
  std::vector<HostSpan> checks;          // one a checked node
  trace::RowId example = trace::kNoRow;  // the first checked node
  // Operators that made a node, and what is left of them without its stack.
  std::vector<HostSpan> makers;
  // The same where leaves' nodes, which keep a stack each as well, are all made in operators that
  // compute: what these lose at most.
  std::vector<HostSpan> makers_at_most;
  std::uint64_t leaves = 0;          // nodes that take a gradient and give none
  Nanos check_ns = 0, stack_ns = 0;  // of all steps
  bool formats_stacks = false;       // seen among Python frames

  bool On() const;
};

// Linear in host slices.
AnomalyMode LookAtAnomalyMode(const Model& model);

}  // namespace hone::replay
