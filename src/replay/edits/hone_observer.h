// SPDX-License-Identifier: Apache-2.0
// HoneObserver: what hone's own recorder adds to the host's time.
#pragma once

#include <memory>

#include "replay/edit.h"

namespace hone::replay {

// By events and the speed of the host; by steps that were timed after the window, where there are
// any and the host decides how long they take.
std::unique_ptr<Edit> MakeHoneObserver(const Model& model);

}  // namespace hone::replay
