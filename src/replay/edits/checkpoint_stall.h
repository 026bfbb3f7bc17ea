// SPDX-License-Identifier: Apache-2.0
// Where a checkpoint is written while the step waits: shared by the edit and the rule.
#pragma once

#include <string>
#include <vector>

#include "replay/model.h"
#include "trace/interval.h"

namespace hone::replay {

struct Checkpoint {
  trace::RowId row = trace::kNoRow;  // the frame of torch.save, or the first copy's call
  // Told by samples, and then there is no row: the user's line, and the function that saves.
  StringId line = StringId::kEmpty, save = StringId::kEmpty;
  trace::Interval span;      // on the row's thread, else on the steps'
  std::uint32_t copies = 0;  // to the host, inside
  Bytes bytes = 0;
  bool by_frame = false;  // a Python frame or samples name it; else told by its copies
};

// With Python frames: torch.save, safetensors and torch.distributed.checkpoint in the window.
// With samples of stacks: where these hold the thread of the steps; from when to when, by the
// launches around the copies that lie in it.
// Else: runs of copies to the host that no kernel launch interrupts, together with the pause after
// them, in some of the steps but not in all. Linear in the trace's rows.
std::vector<Checkpoint> FindCheckpoints(const Model& model);

// "2 checkpoints in 30 steps: 640 ms in all", in the words of findings and of whatif.
std::string DescribeCheckpoints(const Model& model, const std::vector<Checkpoint>& found);

}  // namespace hone::replay
