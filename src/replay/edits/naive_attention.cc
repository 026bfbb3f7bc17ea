// SPDX-License-Identifier: Apache-2.0
// naive-attention: attention runs as one fused kernel.
#include "replay/edits/edits.h"

namespace hone::replay {

FoundEdit FindNaiveAttention(const Model& /*model*/) {
  return FoundEdit::Absent("this change has no model yet");
}

}  // namespace hone::replay
