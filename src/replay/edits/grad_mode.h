// SPDX-License-Identifier: Apache-2.0
// GradMode: whether the steps record what a backward pass would need, and who does.
//
// The dispatcher writes a sequence number on an operator only while grad mode is on, and the number
// grows only when a node of the autograd graph is made (Dispatcher.cpp, sequenceNumberForRunning-
// Operation; Node's constructor). Seen with torch 2.13: under no_grad and inference_mode no
// operator carries one; with grad mode on and nothing that requires grad it stands still.
#pragma once

#include <cstdint>
#include <vector>

#include "replay/model.h"

namespace hone::replay {

struct GradMode {
  std::uint64_t ops = 0, on = 0;     // outermost operators of the steps; of them with grad mode on
  std::vector<trace::RowId> makers;  // operators that made a node, all threads; one row a node

  // Whether the forward pass, and not only code around it, builds a graph.
  bool Builds(double steps) const;
};

// Bytes of the host's memory that each step leaves behind for good, where every step does: with a
// graph that the next step's input hangs on, all activations of all steps are kept. 0: none, or the
// trace has no memory events.
double KeptOnHost(const analyze::Facts& facts);

// Of what begins in `window`. Linear in host slices.
GradMode LookAtGradMode(const trace::Trace& trace, const analyze::Lineage& lineage,
                        trace::Interval window);

// Whether a backward pass or an optimizer runs in `window`.
bool Trains(const trace::Trace& trace, trace::Interval window);

}  // namespace hone::replay
