// SPDX-License-Identifier: Apache-2.0
// The last step of every importer: sorts the tables, nests host slices, links device work to the
// calls and operators that launched it, and counts what could not be linked.
#pragma once

#include "trace/trace.h"

namespace hone::trace {

// Importers fill the columns of HostSlices up to `detail` and of DeviceWork up to `collective`, in
// any order; Finish fills the rest. O(n log n) in rows, O(n) on input that is already sorted.
//
// Links: device work → API by correlation; with several calls of one id, the latest that starts
// before the work. API → operator by nesting on its thread; where the file has External ids and no
// launching call, by External id. Kernels of a CUDA graph belong to the operator that captured
// their node, where the file says when nodes were made. A conflict between the two is counted, the
// call decides.
void Finish(Trace& trace);

}  // namespace hone::trace
