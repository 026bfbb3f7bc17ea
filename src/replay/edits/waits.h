// SPDX-License-Identifier: Apache-2.0
// What kind of wait a waiting task is: edits and rules must not blame the same call twice.
#pragma once

#include "base/known.h"
#include "replay/edit.h"
#include "replay/graph.h"
#include "replay/model.h"

namespace hone::replay {

enum class WaitReason : std::uint8_t {
  kNone,          // not a wait, or a launch held back by a full queue
  kResult,        // .item(), .cpu(), nonzero, synchronize(): the host wants to know
  kPageableCopy,  // a copy out of pageable memory
  kPinnedCopy,    // a copy out of pinned memory that the host waits for all the same
  kFree,          // cudaFree
};
WaitReason ReasonOf(const Model& model, const Task& task);

// A copy to the device out of pageable memory.
bool IsPageableInput(const trace::DeviceWork& device, trace::RowId work);

// CUDA stages pageable copies of up to 64 KiB without waiting for them (CUDA runtime API, "API
// synchronization behavior").
inline constexpr Bytes kStagedAtOnce = 64 * 1024;

// A copy of a result into pageable memory that is long enough to be held up by it.
bool IsPageableResult(const trace::DeviceWork& device, trace::RowId work);

// How long a copy of so many bytes takes between pinned memory and the device. Absent where the
// link is not in the table of devices.
Known<Nanos> PinnedCopyNs(const Model& model, Bytes bytes, Guess guess);

}  // namespace hone::replay
