// SPDX-License-Identifier: Apache-2.0
// Recompute: where a backward pass runs operators of the forward pass once more, as activation
// checkpointing does, and which node of autograd's engine each operator runs in.
//
// PyTorch numbers operators in grad mode only (Dispatcher.h, runRecordFunction), and a node
// computes gradients without it. So what has a number directly in a node is either computed again,
// between the start of the node and its own gradients, or a gradient of which gradients are wanted
// (create_graph=True): what was in the forward pass in the same order is the former. Behind a
// reentrant checkpoint's operators follows a backward pass of its own, nested in the node, which is
// no part of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "replay/model.h"
#include "trace/interval.h"

namespace hone::replay {

class Recompute {
 public:
  struct Region {
    trace::RowId node = trace::kNoRow;     // the engine's slice that it stands in
    trace::RowId first = 0, last = 0;      // outermost operators
    trace::RowId end = 0;                  // of the rows of Trace::host from `first` on
    trace::RowId forward = trace::kNoRow;  // the first in the forward pass, or one like it; kNoRow
    std::uint32_t operators = 0;           // outermost ones
    trace::Interval span;                  // from what stands before it in the node to what follows
  };
  static constexpr std::uint32_t kNone = UINT32_MAX;

  // Linear in host slices.
  explicit Recompute(const Model& model);

  const std::vector<Region>& regions() const { return regions_; }  // by node, then time
  std::span<const Region> RegionsIn(trace::RowId node) const;
  // By any row: the region that it stands in; kNone.
  std::uint32_t RegionOf(trace::RowId row) const { return region_of_[row]; }
  // By any row: the innermost slice of the engine around it, itself included; kNoRow: it is in no
  // backward pass.
  trace::RowId NodeOf(trace::RowId row) const { return node_[row]; }
  // By any row: the outermost operator around it, in a backward pass the outermost in its node.
  trace::RowId OutermostOf(trace::RowId row) const { return outermost_[row]; }

 private:
  // What an operator is of a node: the engine's slice, or the function that it runs in that.
  enum class Part : std::uint8_t { kNone, kSlice, kFunction };
  struct Around {
    std::vector<trace::RowId> op;  // by row, the nearest operator around it
    std::vector<Part> part;        // by row
  };
  class Search;

  Around FindNodes(const trace::Trace& trace);
  void Keep(const trace::Trace& trace, Region region);

  std::vector<trace::RowId> node_, outermost_;  // by host row
  std::vector<std::uint32_t> region_of_;        // by host row
  std::vector<Region> regions_;
};

}  // namespace hone::replay
