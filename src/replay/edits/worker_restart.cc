// SPDX-License-Identifier: Apache-2.0
// worker-restart: workers live through all epochs.
#include "replay/edits/edits.h"

namespace hone::replay {

FoundEdit FindWorkerRestart(const Model& /*model*/) {
  return FoundEdit::Absent("this change has no model yet");
}

}  // namespace hone::replay
