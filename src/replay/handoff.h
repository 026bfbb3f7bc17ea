// SPDX-License-Identifier: Apache-2.0
// Handoffs: moments at which one host thread goes on because another one has finished something
// (backward passes run on a thread of their own while the one that asked for them waits).
#pragma once

#include <cstdint>
#include <vector>

#include "base/units.h"
#include "trace/interval.h"

namespace hone::replay {

struct Handoff {
  Nanos idle_from_ns = 0;  // the thread did nothing from here
  Nanos released_ns = 0;   // until the other thread finished
  Nanos resume_ns = 0;     // and it went on; the code between the two is its own
  std::uint16_t from = 0;  // index of the other thread
};

// `activities`: for each thread its outermost operators, calls and fetches, disjoint and in time
// order. A pause of one thread is a handoff when another one began and finished something inside
// it, and was at rest when the pause ended. Threads that work at the same time hand nothing over.
// O(n log n).
std::vector<std::vector<Handoff>> FindHandoffs(
    const std::vector<std::vector<trace::Interval>>& activities, Nanos begin_ns);

}  // namespace hone::replay
