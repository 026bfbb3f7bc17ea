// SPDX-License-Identifier: Apache-2.0
// Where a checkpoint is written while the step waits: shared by the edit and the rule.
#pragma once

#include <vector>

#include "replay/model.h"
#include "trace/interval.h"

namespace hone::replay {

struct Checkpoint {
  trace::RowId row = trace::kNoRow;  // the frame of torch.save, or the first copy's call
  trace::Interval span;              // on the row's thread
  std::uint32_t copies = 0;          // to the host, inside
  Bytes bytes = 0;
  bool by_frame = false;  // a Python frame names it; else told by its copies
};

// With Python frames: torch.save, safetensors and torch.distributed.checkpoint in the window.
// Without: runs of copies to the host that no kernel launch interrupts, together with the pause
// after them, in some of the steps but not in all. Linear in the trace's rows.
std::vector<Checkpoint> FindCheckpoints(const Model& model);

}  // namespace hone::replay
