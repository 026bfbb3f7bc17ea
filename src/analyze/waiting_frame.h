// SPDX-License-Identifier: Apache-2.0
// Functions that do nothing but wait, by their names as recorders write them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hone::analyze {

// What ends the wait.
enum class WaitsFor : std::uint8_t {
  kNothing,  // no waiting function, as far as its name tells
  kClock,    // sleep()
  kOutside,  // something that comes in: epoll, select, accept, recv
  kThread,   // another thread of the program, or a process of it: a lock, a queue, a future, a pipe
};

// Of one frame: "<method 'poll' of 'select.epoll' objects>", "queue.py(154): get". What only its
// user knows to wait (a method of somebody's class) is kNothing.
WaitsFor WaitOfFrame(std::string_view name);

// The function in short: "epoll.poll", "queue.get", "sleep".
std::string WaitText(std::string_view name);

}  // namespace hone::analyze
