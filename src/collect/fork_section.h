// SPDX-License-Identifier: Apache-2.0
// ForkSection: while one stands, no fork of the program begins.
//
// The child of a fork has the forking thread and no other. A lock of somebody else's (torch's list
// of callbacks, CUPTI's, the driver's, the loader's list of libraries) that another thread held at
// that moment stays held there for ever, and the child's first operator waits for it. Locks that
// the program takes are the program's affair; those that are taken because of us are taken inside
// of such a section, which the program's fork waits for. Locks of our own are reset in the child.
//
// Nobody waits longer than kForkPatienceNs, for what he waits for may wait for him: a fork inside
// of a handler that holds the program's allocator, of a constructor that holds the loader's lock.
// Such a fork then goes on as if nobody were inside.
//
// Keep sections short, and wait inside of none for Python's lock nor for another thread of ours.
#pragma once

#include <cstdint>

namespace hone::collect {

// A section takes microseconds; a thread inside of one that lost its core waits for some
// milliseconds, or for the rest of a quota's period (100 ms as a rule).
inline constexpr std::uint64_t kForkPatienceNs = 1'000'000'000;

// One thread at a time; on one thread they nest, also in a signal handler.
class ForkSection {
 public:
  ForkSection() noexcept;
  ~ForkSection();
  ForkSection(const ForkSection&) = delete;
  ForkSection& operator=(const ForkSection&) = delete;
};

// From now on forks wait. Handlers that are registered later run earlier, with fewer locks of
// others held: an allocator registers its own at its first use, so this is called late. Once is
// enough; any thread.
void HoldForks() noexcept;

}  // namespace hone::collect
