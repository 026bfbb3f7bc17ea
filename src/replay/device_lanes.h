// SPDX-License-Identifier: Apache-2.0
// The device's lanes of a graph: one a stream, or one for streams that share the device.
#pragma once

#include "replay/draft.h"
#include "replay/shared_device.h"

namespace hone::replay {

struct DeviceLanes {
  Nanos launch_lag_ns = 0, turnaround_ns = 0;
  std::uint64_t unlinked = 0;
};

// After the host's lanes. Work launched inside the window, and work inside it whose launch is not
// in the file; where the steps are the device's own pattern, the work that ran inside. A piece of
// work waits for its call, for the one before it on its stream, and, where the measured start says
// so, for work of another stream (an event).
DeviceLanes AddDeviceLanes(const GraphInput& input, const SharedDevice& shared, Draft& draft);

}  // namespace hone::replay
