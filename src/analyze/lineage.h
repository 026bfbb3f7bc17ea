// SPDX-License-Identifier: Apache-2.0
// Lineage: for each host slice, what of the kinds that analyses ask for ran when it began. One
// forward pass over rows, whatever the depth.
#pragma once

#include "trace/trace.h"

namespace hone::analyze {

struct Lineage {
  explicit Lineage(const trace::Trace& trace);

  // Row of the innermost slice of that kind that the row began in, itself included; kNoRow: none.
  Column<trace::RowId> op;          // innermost operator
  Column<trace::RowId> top_op;      // outermost operator
  Column<trace::RowId> annotation;  // innermost annotation
  Column<trace::RowId> python;      // innermost Python function with a source line
  Column<trace::RowId> module;      // innermost "nn.Module: …" Python slice
};

}  // namespace hone::analyze
