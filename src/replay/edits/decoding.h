// SPDX-License-Identifier: Apache-2.0
// Decoding without a cache: forward passes whose input grows by the same amount each time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/known.h"
#include "replay/model.h"

namespace hone::replay {

// One forward pass of the step's thread: from the first call with this many rows to the next pass.
struct Pass {
  trace::Interval span;
  std::int64_t rows = 0;  // batch × tokens that it computes
  bool grown = false;     // by Decoding::new_rows over the pass before: all but those were known
};

struct Decoding {
  std::vector<Pass> passes;           // in order of time
  std::int64_t new_rows = 0;          // a pass: batch × 1 as a rule
  std::size_t grown = 0;              // passes of which that is true
  StringId op = StringId::kEmpty;     // the operator that showed it
  StringId dims = StringId::kEmpty;   // its last shapes
  trace::RowId last = trace::kNoRow;  // the call that had them
};

// By operators that multiply rows with a weight or look rows up in one (linear, addmm, mm,
// embedding), the weight's shape being the same each time. Absent with the reason: no shapes, or no
// such growth. Linear in the host's rows; arguments are parsed once per distinct combination.
Known<Decoding> FindDecoding(const Model& model);

// Bytes of the weight that a product of these arguments reads; 0: not a product with a weight.
double WeightBytes(const Model& model, trace::RowId op);

}  // namespace hone::replay
