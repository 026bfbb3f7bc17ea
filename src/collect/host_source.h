// SPDX-License-Identifier: Apache-2.0
// The sources of what the program's own threads log: slices and allocations.
#pragma once

#include "collect/source.h"

namespace hone::collect {

void AddHostSources() noexcept;

// Names of threads that have appeared since the last call, or of all of them again.
void WriteThreadNames(Output& output, bool all) noexcept;

}  // namespace hone::collect
