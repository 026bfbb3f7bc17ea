// SPDX-License-Identifier: Apache-2.0
// exposed-comm: communication hides behind compute.
#include "replay/edits/edits.h"

namespace hone::replay {

FoundEdit FindExposedComm(const Model& /*model*/) {
  return FoundEdit::Absent("this change has no model yet");
}

}  // namespace hone::replay
