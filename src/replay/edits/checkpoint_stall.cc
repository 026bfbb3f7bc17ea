// SPDX-License-Identifier: Apache-2.0
// checkpoint-stall: checkpoints are written in the background.
#include "replay/edits/edits.h"

namespace hone::replay {

FoundEdit FindCheckpointStall(const Model& /*model*/) {
  return FoundEdit::Absent("this change has no model yet");
}

}  // namespace hone::replay
