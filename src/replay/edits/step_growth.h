// SPDX-License-Identifier: Apache-2.0
// StepGrowth: how a step grows when it has more samples.
#pragma once

#include "replay/edit.h"

namespace hone::replay {

class StepGrowth {
 public:
  virtual ~StepGrowth() = default;
  // Grows what depends on the samples, and says so in Plan::samples.
  virtual void Apply(Guess guess, double times, Plan& plan) const = 0;
  // How often in a step the model gets its samples one by one; 1: it gets them together. More than
  // that cannot go together, and the step is one with the same samples.
  virtual double rounds() const { return 1; }
};

// Fetching and making batches, on whichever lane: with `times` the samples as many times as long.
void GrowInput(const Graph& graph, double times, Plan& plan);

}  // namespace hone::replay
