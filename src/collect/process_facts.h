// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collect/source.h"

namespace hone::collect {

// What this process is (table kInfo): pid, ppid, cmdline, exe, cwd, host, cores, start_realtime_ns,
// start_monotonic_ns, clock, recorder, and rank, local_rank, world_size where the environment of a
// launcher says so.
void WriteProcessFacts(Output& output) noexcept;

}  // namespace hone::collect
