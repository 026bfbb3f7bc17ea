// SPDX-License-Identifier: Apache-2.0
// UnusedGradients: what of the backward pass makes gradients that no optimizer resets.
#pragma once

#include <vector>

#include "replay/edit.h"
#include "replay/edits/stale_gradients.h"

namespace hone::replay {

struct UnusedGradients {
  // What goes of the time of a node, or of an operator in one, from 0 to 1.
  struct Gone {
    trace::RowId node = trace::kNoRow;
    trace::RowId next = trace::kNoRow;  // behind it in its pass
    Range3 share;
  };
  StaleGradients stale;
  std::vector<Gone> gone;
  // Likely to go, on the host: of nodes that go as a whole, and of those of which a part goes.
  // Leaves are left out, which go as a whole in any case.
  double whole_ns = 0, part_ns = 0;

  // Nothing behind them needs the pass through them either: a model of its own, or the first layers
  // of one.
  bool of_a_model() const { return whole_ns >= part_ns; }
};

// Linear in host rows beside LookAtStaleGradients.
UnusedGradients LookAtUnusedGradients(const Model& model);

}  // namespace hone::replay
