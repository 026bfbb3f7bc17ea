// SPDX-License-Identifier: Apache-2.0
// recompile: nothing is compiled inside the steps.
#include "replay/edits/edits.h"

namespace hone::replay {

FoundEdit FindRecompile(const Model& /*model*/) {
  return FoundEdit::Absent("this change has no model yet");
}

}  // namespace hone::replay
