// SPDX-License-Identifier: Apache-2.0
// When cores are crowded, and when that holds a step up: for the rule and the edit alike.
#pragma once

namespace hone::replay {

// Threads that want to run, a core. Below it the queue is noise: the kernel's own threads count.
inline constexpr double kCrowded = 1.25;
// Of the time that the step's thread waited for a core; below it the crowd does not hold it up.
inline constexpr double kLeastWaiting = 0.05;

}  // namespace hone::replay
