// SPDX-License-Identifier: Apache-2.0
// kv-cache-unused: every step computes one token.
#include "replay/edits/edits.h"

namespace hone::replay {

FoundEdit FindKvCache(const Model& /*model*/) {
  return FoundEdit::Absent("this change has no model yet");
}

}  // namespace hone::replay
