// SPDX-License-Identifier: Apache-2.0
// Where every Python thread of the process stands, many times a second (HONE_STACK_HZ): a thread of
// the recorder's own looks at the interpreter's memory from outside, so the program neither waits
// nor knows. What it sees is checked (code is code, stacks end where they did); a stack that
// changed too fast to be read is counted as lost.
#pragma once

namespace hone::collect {

// The source "python": samples while a window is open, and the tables of functions and frames that
// everything else refers to. Once the interpreter is known (python_frames.h).
void AddPythonSource() noexcept;

}  // namespace hone::collect
