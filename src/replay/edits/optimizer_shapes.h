// SPDX-License-Identifier: Apache-2.0
// OptimizerShapes: of what sizes the parameters are that optimizers go over, and which gradients of
// a backward pass are of other sizes.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "replay/edits/stale_gradients.h"
#include "replay/model.h"

namespace hone::replay {

class OptimizerShapes {
 public:
  // Of all steady steps in which arguments were recorded. Linear in host rows.
  explicit OptimizerShapes(const Model& model);

  // By the pass's leaves: whether no optimizer goes over anything of that size. Empty: not told,
  // because sizes were not recorded, or because optimizers work on tensors of their own (flat ones,
  // shards). Sizes that a used and an unused parameter share count as used.
  std::vector<std::uint8_t> Untouched(const BackwardPass& pass) const;

 private:
  using Dims = std::vector<std::int64_t>;

  Dims DimsOfLeaf(trace::RowId node) const;

  const Model& model_;
  std::set<Dims> sizes_;
};

}  // namespace hone::replay
