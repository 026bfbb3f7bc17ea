// SPDX-License-Identifier: Apache-2.0
// allocator-churn: no device memory is allocated or freed inside the steps.
#include "replay/edits/edits.h"

namespace hone::replay {

FoundEdit FindAllocatorChurn(const Model& /*model*/) {
  return FoundEdit::Absent("this change has no model yet");
}

}  // namespace hone::replay
