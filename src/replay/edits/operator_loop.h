// SPDX-License-Identifier: Apache-2.0
// OperatorLoop: the same operators over and over inside a step, called one by one by Python where
// one call could do all of it. Part of python-hotspot.
#pragma once

#include <cstdint>
#include <vector>

#include "base/known.h"
#include "replay/edits/host_cut.h"
#include "replay/model.h"

namespace hone::replay {

enum class LoopKind : std::uint8_t {
  kOperators,  // without weights: over samples, elements or parameters
  kReads,      // single values are read out of tensors
  kModel,      // a model on one sample at a time, or on a few
  kGru,        // a recurrent cell over time: GRU, or any cell with one tanh
  kLstm,
};

struct OperatorLoop {
  LoopKind kind = LoopKind::kOperators;
  std::vector<trace::RowId> rows;  // outermost operators from the second time round on, all steps
  std::vector<trace::RowId> once;  // operators of one time round
  double times = 0;                // round, a step
  // Operators more with every step, always as many; 0: not so, or with weights. Who goes over a
  // list that nobody empties.
  double growth = 0;
  bool one_row = false;   // of a model: recorded shapes say so
  bool backward = false;  // their backward passes are in the cut too
  HostCut cut;
  std::vector<TaskId> work;  // on a device, that the operators in the cut launch
};

// The loop with most to gain. Absent: none, one in which calling is a small part, or one that may
// as well go over the layers of a model or need each time what the time before gave. Linear in host
// rows but for a sort.
Known<OperatorLoop> FindOperatorLoop(const Model& model);

}  // namespace hone::replay
