// SPDX-License-Identifier: Apache-2.0
// no-tensor-cores: matrix work runs on tensor cores.
#include "replay/edits/edits.h"

namespace hone::replay {

FoundEdit FindNoTensorCores(const Model& /*model*/) {
  return FoundEdit::Absent("this change has no model yet");
}

}  // namespace hone::replay
