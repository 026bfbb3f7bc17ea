// SPDX-License-Identifier: Apache-2.0
// launch-bound: a step is launched as a whole.
#include "replay/edits/edits.h"

namespace hone::replay {

FoundEdit FindLaunchBound(const Model& /*model*/) {
  return FoundEdit::Absent("this change has no model yet");
}

}  // namespace hone::replay
