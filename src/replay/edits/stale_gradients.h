// SPDX-License-Identifier: Apache-2.0
// StaleGradients: gradients that outlive the optimizer's step. A gradient that was reset is set by
// the next backward pass; one that was not is added to, and autograd's node says so.
#pragma once

#include <cstdint>
#include <vector>

#include "replay/model.h"

namespace hone::replay {

struct BackwardPass {
  struct Leaf {
    std::size_t node = 0;  // its place among the nodes
    bool adds = false;     // to a gradient that was there
    bool stale =
        false;  // in every pass of this shape that follows an optimizer's step; or untouched
  };
  std::vector<trace::RowId> nodes;  // of autograd's engine, in time order; those inside others only
  std::vector<Leaf> leaves;         // that take a gradient: parameters, most of all
  bool behind_step = false;         // the first since an optimizer's step
  bool replayed = false;            // lies in the steps that are replayed
  bool all_stale() const;
};

struct StaleGradients {
  std::vector<BackwardPass> passes;
  // Of the passes behind an optimizer's step, those with as many leaves as the one with most stale
  // ones: how many, their leaves, and the stale ones of them.
  std::uint64_t judged = 0, leaves = 0, stale = 0;
  bool set_anywhere = false;  // behind the first step, some leaf of some pass found no gradient
  bool zeroed = false;  // gradients are zeroed in place: what is added to says nothing about them
  // All are reset, and the stale ones are those of a size that no optimizer goes over.
  bool by_sizes = false;
  // The operator of the forward pass that the first stale leaf belongs to; kNoRow: not known.
  trace::RowId example = trace::kNoRow;

  bool set_elsewhere = false;  // passes of other parameters set as many as are stale in these
  std::uint64_t steps = 0, resets = 0;  // marks of optimizers' step() and zero_grad()

  // Nothing in the steps resets any gradient.
  bool none_reset() const { return stale > 0 && stale == leaves && !set_anywhere && !by_sizes; }
  // Some are reset and others not.
  bool some_stale() const { return stale > 0 && (set_anywhere || by_sizes); }
  // Optimizers step twice or more for each zero_grad(), and no pass is another one's: there are
  // some that step with what nobody resets.
  bool half_reset() const {
    return some_stale() && !set_elsewhere && resets > 0 && 2 * steps >= 3 * resets;
  }
};

// Of all steady steps: where a step is long, one or two are replayed, which is too few to judge by.
// O(n log n) in host rows. Nothing is judged from fewer than two passes of one shape.
StaleGradients LookAtStaleGradients(const Model& model);

}  // namespace hone::replay
