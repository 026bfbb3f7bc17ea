// SPDX-License-Identifier: Apache-2.0
// Finds the program's own libtorch_cpu and libc10, which Python loads out of everyone's sight
// (RTLD_LOCAL), and functions in them. Loads nothing.
#pragma once

namespace hone::collect {

// A handle of the loaded library whose file name begins with `stem` ("libtorch_cpu.so"); null: not
// loaded. Never closed.
void* FindLoaded(const char* stem) noexcept;
// Whether libraries were loaded since the last call of this function.
bool LibrariesChanged() noexcept;

}  // namespace hone::collect
