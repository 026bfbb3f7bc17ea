// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace hone::collect {

// A thread of the recorder's own, which nobody waits for: it takes no signals (the program's
// handlers are not ours to run) and has its name ("hone-…") before this returns, so that who counts
// threads can tell it from the program's. False when there is none to be had.
bool StartOwnThread(const char* name, void* (*main)(void*), void* argument) noexcept;

// Whether the program's threads have all ended, its first by pthread_exit: then only ours keep the
// process alive, and it should end. Two system calls and a read of /proc while it has not.
bool OnlyOwnThreadsLeft() noexcept;

}  // namespace hone::collect
