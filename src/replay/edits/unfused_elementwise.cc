// SPDX-License-Identifier: Apache-2.0
// unfused-elementwise: chains of element-wise kernels become one.
#include "replay/edits/edits.h"

namespace hone::replay {

FoundEdit FindUnfusedElementwise(const Model& /*model*/) {
  return FoundEdit::Absent("this change has no model yet");
}

}  // namespace hone::replay
