// SPDX-License-Identifier: Apache-2.0
// Copies of batches that stand in line with the kernels of their stream, though the copy engine
// could bring them while the kernels of the batch before run.
#pragma once

#include <cstdint>
#include <vector>

#include "replay/graph.h"
#include "replay/model.h"

namespace hone::replay {

struct CopyInLine {
  TaskId task = kNoTask;
  std::uint32_t of_batch = 0;  // copies of the same batch to the same device before it
};

// In the order in which they run. To the device, out of pinned memory, on a stream that also
// computes. Left out is what the host waits for (blocking-copy), what shares its stream's time
// (SharedDevice), an optimizer's own, what may hold results of the device (the host had some
// brought to it since it fetched the batch or, where it fetches none, since it copied the one
// before), and all of them where no more than every second step has any. Linear but for a sort of
// results.
std::vector<CopyInLine> FindCopiesInLine(const Model& model);

}  // namespace hone::replay
