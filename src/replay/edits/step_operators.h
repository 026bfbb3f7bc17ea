// SPDX-License-Identifier: Apache-2.0
// StepOperators: the outermost operators of the thread that makes the steps, in order, and the
// stretches of them in which the same ones come again and again.
#pragma once

#include <cstdint>
#include <vector>

#include "replay/model.h"

namespace hone::replay {

struct StepOperator {
  trace::RowId row = trace::kNoRow;
  std::uint32_t key = 0;     // same name, called from the same place (line, module) as far as known
  std::uint32_t step = 0;    // of the window
  std::uint32_t slices = 0;  // operators inside, itself included
  std::uint32_t products = 0;  // of these, without itself
  std::int64_t sequence = -1;  // of autograd: its first node, or the node that it goes back through
  bool backward = false;       // autograd's engine runs it
};

// Left out: what optimizers and loaders call.
std::vector<StepOperator> ListStepOperators(const Model& model);

// Operators [first, last) that each came before in the same step, not long ago.
struct Stretch {
  std::size_t first = 0, last = 0;
  std::uint32_t anchor = 0;  // the key that comes most often
  std::uint32_t times = 0;   // that most of its keys come
};
// Those in which something comes seven times again or more.
std::vector<Stretch> FindStretches(const std::vector<StepOperator>& operators);

}  // namespace hone::replay
